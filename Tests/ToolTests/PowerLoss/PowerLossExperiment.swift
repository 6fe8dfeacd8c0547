import Glibc
import TestThreads
import Testing

/// Records the writes of the tool, and creates images of the possible content after a power failure.
///
/// `MOONPOOL_POWER_LOSSES=300` creates 300 images in each test, and keeps those with an error.
final class PowerLossExperiment {
    let folder: TemporaryFolder
    /// The folder whose files are recorded.
    let device: String
    private let library: String
    private let present: [String: (inode: UInt64, bytes: [UInt8])]

    static let chosenCount = getenv("MOONPOOL_POWER_LOSSES").flatMap { Int(String(cString: $0)) }
    static let count = chosenCount ?? 8
    private static let keptImages = "/tmp/moonpool-power-losses"

    /// `prepare` creates files that are on the device before the recording.
    init(_ prepare: (String) throws -> Void = { _ in }) throws {
        folder = try TemporaryFolder()
        device = folder.path + "/device"
        mkdir(device, 0o755)
        try prepare(device)
        library = try FileCalls.compile(in: folder)
        present = Self.files(device)
    }

    // MARK: Recording

    /// Starts the tool and records its writes.
    func start(_ arguments: [String], in folder: String? = nil) throws -> Subprocess {
        try Subprocess(
            Tool.path, arguments, in: folder ?? self.folder.path,
            environment: [
                "LD_PRELOAD": library, "FILECALLS_FOLDER": device,
                "FILECALLS_TRACE": self.folder.path + "/trace",
            ])
    }

    /// Runs the tool to its end and records its writes.
    func run(_ arguments: [String], in folder: String? = nil) throws {
        let outcome = try start(arguments, in: folder).finish(within: 300)
        try #require(outcome.exitCode == 0, "\(arguments): \(outcome.error)")
    }

    /// The recorded writes.
    func trace() throws -> WriteTrace {
        let trace = try WriteTrace(Self.bytes(folder.path + "/trace"))
        // A recording contains at least two flushes.
        try #require(trace.operations.count { $0.kind == .endFlush } > 1)
        return trace
    }

    // MARK: Images

    /// The files after a power failure, in a separate folder.
    struct Image {
        let folder: String
        let moment: Int
        let names: Set<String>
        let acknowledged: [Int: Int]

        var description: String { "image at \(moment), acknowledged \(acknowledged)" }
    }

    /// Calls `verify` with the images of a trace, in batches.
    func inspect(
        _ trace: WriteTrace, count: Int = PowerLossExperiment.count, seed: UInt64,
        _ verify: ([Image]) throws -> Void
    ) throws {
        var random = SeededGenerator(seed: seed)
        let moments = trace.moments(count, using: &random)
        var disk = SimulatedDevice(present)
        var images: [Image] = []
        var next = 0
        for (index, operation) in trace.operations.enumerated() {
            disk.apply(operation, at: index)
            while next < moments.count, moments[next] == index {
                let folder = "\(self.folder.path)/image-\(next)"
                mkdir(folder, 0o755)
                let files = disk.image(using: &random)
                for (name, bytes) in files { try Self.write(bytes, to: "\(folder)/\(name)") }
                images.append(
                    Image(
                        folder: folder, moment: index, names: Set(files.keys),
                        acknowledged: disk.acknowledged))
                next += 1
            }
            if images.count >= 20 || (index == trace.operations.count - 1 && !images.isEmpty) {
                try verify(images)
                for image in images { try Self.remove(image.folder) }
                images = []
            }
        }
    }

    /// Runs a script on the images with a file of the given name, and returns the line that it prints after each
    /// folder.
    ///
    /// The script receives the file's name and the path of a list of folders.
    func results(of script: String, on name: String, _ images: [Image]) throws -> [String: String] {
        let folders = images.filter { $0.names.contains(name) }.map(\.folder)
        guard !folders.isEmpty else { return [:] }
        let list = try folder.write(folders.joined(separator: "\n") + "\n", to: "list")
        let outcome = try Subprocess(Tool.path, [script, name, list]).finish(within: 600)
            .expectSuccess()
        var results: [String: String] = [:]
        for line in outcome.lines {
            guard let tab = line.firstIndex(of: "\t") else { continue }
            results[String(line[..<tab])] = String(line[line.index(after: tab)...])
        }
        return results
    }

    /// Records an error, and keeps a copy of the image in a long run.
    func fault(_ image: Image, _ pristine: String?, _ what: String) {
        var kept = ""
        if let pristine, Self.chosenCount != nil {
            mkdir(Self.keptImages, 0o755)
            kept =
                "\(Self.keptImages)/\(getpid())-\(UInt64.random(in: 0 ... .max))"
            _ = try? Subprocess("/bin/cp", ["-r", pristine, kept]).finish()
        }
        Issue.record("\(image.description): \(what) \(kept)")
    }

    /// A copy of an image before it was opened.
    func copy(_ image: Image) throws -> String {
        let target = image.folder + ".copy"
        let copying = try Subprocess("/bin/cp", ["-r", image.folder, target]).finish()
        guard copying.exitCode == 0 else { throw SystemFailure("cp") }
        return target
    }

    // MARK: Files

    static func remove(_ folder: String) throws {
        _ = try Subprocess("/bin/rm", ["-rf", folder, folder + ".copy"]).finish()
    }

    private static func bytes(_ path: String) -> [UInt8] {
        let file = open(path, O_RDONLY)
        guard file >= 0 else { return [] }
        defer { close(file) }
        let size = Int(lseek(file, 0, SEEK_END))
        lseek(file, 0, SEEK_SET)
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size {
                let read = Glibc.read(file, buffer.baseAddress! + count, size - count)
                if read <= 0 { break }
                count += read
            }
        }
    }

    private static func write(_ bytes: [UInt8], to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        guard file >= 0 else { throw SystemFailure("open \(path)") }
        defer { close(file) }
        guard Glibc.write(file, bytes, bytes.count) == bytes.count else {
            throw SystemFailure("write \(path)")
        }
    }

    private static func files(_ folder: String) -> [String: (inode: UInt64, bytes: [UInt8])] {
        var files: [String: (inode: UInt64, bytes: [UInt8])] = [:]
        for name in TemporaryFolder.names(in: folder) {
            var status = stat()
            guard stat("\(folder)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                continue
            }
            files[name] = (UInt64(status.st_ino), bytes("\(folder)/\(name)"))
        }
        return files
    }
}
