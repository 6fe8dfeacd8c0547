/// Why a Realm file cannot be read.
package struct RealmFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    package enum Kind: Hashable, Sendable {
        /// The file does not exist or cannot be opened.
        case unreadable
        /// The file is not a Realm file, or an encrypted one that was opened without its key.
        case notRealm
        /// The format is older, newer or other than the formats that Realm released.
        case unsupportedFormat
        /// The text is not a key.
        case invalidKey
        /// The key belongs to another file.
        case wrongKey
        /// Realm was interrupted while it converted the file to a newer format.
        case unfinishedUpgrade
        /// The file contradicts itself.
        case damaged
        /// Another program has written to the file while it was read.
        case changed
    }

    /// The kind of failure.
    package let kind: Kind
    /// The fault, its location, and the solution.
    package let message: String
    /// Whether the message names the class or the object.
    private let isLocated: Bool

    init(_ kind: Kind, _ message: String, isLocated: Bool = false) {
        self.kind = kind
        self.message = message
        self.isLocated = isLocated
    }

    /// The message.
    package var description: String { message }

    /// A contradiction in the file.
    static func damaged(_ what: String) -> RealmFileError {
        RealmFileError(.damaged, prefix + what)
    }

    /// The same error with the class, property or object that it is about; the first location stays.
    func at(_ location: @autoclosure () -> String) -> RealmFileError {
        guard kind == .damaged, !isLocated, message.hasPrefix(Self.prefix) else { return self }
        return RealmFileError(
            .damaged, Self.prefix + "\(location()): " + message.dropFirst(Self.prefix.count),
            isLocated: true)
    }

    private static let prefix = "the file is damaged: "

    /// The damage, without the words that begin the message.
    var detail: String {
        message.hasPrefix(Self.prefix) ? String(message.dropFirst(Self.prefix.count)) : message
    }

    /// An address as it is written in messages.
    static func hex(_ address: Int) -> String { "0x" + String(address, radix: 16) }
}
