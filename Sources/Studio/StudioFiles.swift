import EventLoops
import Synchronization
import SystemCalls

/// The files of a studio: those that a page can download once, in a private folder, and those that it has uploaded.
///
/// Uploaded files have no names. The last four remain; the script opens them by their paths.
final class StudioFiles: Sendable {
    struct File {
        let path: String
        let name: String
    }

    private struct State {
        var downloads: [String: File] = [:]
        /// The numbers of the last uploads.
        var numbers = [String](repeating: "", count: StudioFiles.maxUploads)
        var last = 0
        var acceptsUploads = true
    }

    static let largestUpload = 1 << 30
    private static let maxUploads = 4

    let folder: String
    private let state = Mutex(State())
    private let uploads = (0..<StudioFiles.maxUploads).map { _ in UnnamedFile() }

    init() throws(StudioFailure) {
        guard let folder = ProcessServices.makeOwnFolder(named: "moonpool-studio") else {
            throw StudioFailure(message: "cannot create a folder for temporary files")
        }
        self.folder = folder
    }

    /// Whether a page can send files; false for a store that is read-only.
    var acceptsUploads: Bool { state.withLock { $0.acceptsUploads } }

    /// The paths of the last uploads, whose numbers begin with an index of this list.
    var uploadPaths: [String] { uploads.map(\.path) }

    /// Handles a message of the script: that the store is read-only, the number of an upload that is no longer needed, or
    /// the address, the path and the name of a file.
    func receive(_ message: String) {
        let parts = message.split(separator: "\n").map(String.init)
        if let index = state.withLock({ $0.numbers.firstIndex(of: message) }) {
            return uploads[index].clear()
        }
        if message == "read-only" { state.withLock { $0.acceptsUploads = false } }
        guard parts.count == 3 else { return }
        let name = parts[2].map { character in
            character.isASCII
                && (character.isLetter || character.isNumber || "._-".contains(character))
                ? character : "_"
        }
        state.withLock { $0.downloads[parts[0]] = File(path: parts[1], name: String(name)) }
    }

    /// Returns the file at an address and forgets the address.
    func take(_ address: String) -> File? {
        state.withLock { $0.downloads.removeValue(forKey: address) }
    }

    /// Writes an uploaded file, and returns its number; nil if it is incomplete.
    ///
    /// The script clears it after the import, or when the page ends.
    func upload(_ size: Int, after first: [UInt8], from socket: LocalSocket) -> String? {
        let secret = StudioAccess.secret()
        let index = state.withLock { state in
            state.last = (state.last + 1) % Self.maxUploads
            return state.last
        }
        let name = folder + "/upload-" + secret
        guard uploads[index].read(size, after: first, from: socket, through: name) else {
            return nil
        }
        let number = "\(index + 1)-\(secret)"
        state.withLock { $0.numbers[index] = number }
        return number
    }

    func remove() { ProcessServices.removeFolder(folder) }
}
