import Foundation
import SystemCalls
import TestThreads
import Testing

@testable import LineEditing

/// Output of several threads beside an edited line.
@Suite struct AsyncOutputTests {
    @Test func `a prompt begins on a new line while a thread prints unfinished lines`() async throws
    {
        let folder = try TemporaryFolder()
        let path = try folder.write("", to: "screen")
        let file = open(path, O_WRONLY)
        defer { close(file) }
        let output = try #require(AsyncOutput(descriptor: file))
        let hasBegun = Flag()
        let isDone = Flag()
        let printing = RunningThread {
            hasBegun.set()
            while !isDone.isSet { output.write("a") }
        }
        #expect(try await eventually { hasBegun.isSet })
        for _ in 0..<2000 {
            output.beginLine()
            // No other output is written now.
            Descriptor.write(file, Array("> \n".utf8))
            output.endEditing()
        }
        isDone.set()
        printing.wait()
        let text = try folder.read("screen")
        let prompts = text.split(separator: "\n").filter { $0.contains(">") }
        #expect(prompts.count == 2000)
        #expect(prompts.allSatisfy { $0 == "> " })
    }
}
