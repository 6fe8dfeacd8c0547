import ObjectStore
import Testing
import Transfer

/// Parts of the program that traits include.
@Suite struct OptionalPartTests {
    @Test func `a missing part is unsupported, and the error names its trait`() throws {
        let part = OptionalPart<Int>("NATS", trait: "Nats")
        #expect(!part.isAvailable)
        do {
            _ = try part.required()
            Issue.record("the part is missing")
        } catch let error as StoreError {
            #expect(error.code == .unsupported)
            #expect(error.message.contains("without NATS") && error.message.contains("'Nats'"))
        }
        part.register(7)
        #expect(part.isAvailable)
        #expect(try part.required() == 7)
    }
}
