import EventLoops
import Synchronization
import SystemCalls

/// The files of a studio, in a private folder: those that a page can download once, and those that it has uploaded.
final class StudioFiles: Sendable {
    struct File {
        let path: String
        let name: String
    }

    private struct State {
        var downloads: [String: File] = [:]
        /// The paths of the last uploads.
        var uploads: [String] = []
        var acceptsUploads = true
    }

    static let largestUpload = 1 << 30
    private static let mostUploads = 4

    let folder: String
    private let state = Mutex(State())

    init() throws(StudioFailure) {
        guard let folder = ProcessServices.makeOwnFolder(named: "moonpool-studio") else {
            throw StudioFailure(message: "cannot create a folder for temporary files")
        }
        self.folder = folder
    }

    /// Whether a page can send files; false for a store that is read-only.
    var acceptsUploads: Bool { state.withLock { $0.acceptsUploads } }

    /// Handles a message of the script: that the store is read-only, or the address, the path and the name of a file.
    func receive(_ message: String) {
        let parts = message.split(separator: "\n").map(String.init)
        guard parts.count == 3 else { return state.withLock { $0.acceptsUploads = false } }
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
    /// The script removes it after the import, or when the page ends. Of the files that no page has claimed, the last four
    /// remain.
    func upload(_ size: Int, after first: [UInt8], from socket: LocalSocket) -> String? {
        let number = StudioAccess.secret()
        let path = folder + "/upload-" + number
        let oldest = state.withLock { state in
            state.uploads.append(path)
            return state.uploads.count > Self.mostUploads ? state.uploads.removeFirst() : nil
        }
        if let oldest { ProcessServices.remove(oldest) }
        if socket.read(size, after: first, intoFileAt: path) { return number }
        ProcessServices.remove(path)
        return nil
    }

    func remove() { ProcessServices.removeFolder(folder) }
}
