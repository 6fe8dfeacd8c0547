/// An error in reading a Realm file.
package struct RealmFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    package enum Kind: Hashable, Sendable {
        /// The file does not exist or cannot be opened.
        case unreadable
        /// The file is not a Realm file, or an encrypted one that was opened without its key.
        case notRealm
        /// The format is not one of the formats that Realm has released.
        case unsupportedFormat
        /// The text is not a key.
        case invalidKey
        /// The key belongs to another file.
        case wrongKey
        /// Realm was interrupted while it converted the file to a newer format.
        case unfinishedUpgrade
        /// The file is inconsistent.
        case damaged
        /// Another program has written to the file while it was being read.
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

    /// Returns the error of an inconsistency in the file.
    static func damaged(_ what: String) -> RealmFileError {
        RealmFileError(.damaged, prefix + what)
    }

    /// Returns the same error with the class, property or object where it occurred; an existing location is kept.
    func at(_ location: @autoclosure () -> String) -> RealmFileError {
        guard kind == .damaged, !isLocated, message.hasPrefix(Self.prefix) else { return self }
        return RealmFileError(
            .damaged, Self.prefix + "\(location()): " + message.dropFirst(Self.prefix.count),
            isLocated: true)
    }

    private static let prefix = "the file is damaged: "

    /// The description of the damage, without the prefix of the message.
    var detail: String {
        message.hasPrefix(Self.prefix) ? String(message.dropFirst(Self.prefix.count)) : message
    }

    /// Returns an address in the notation of messages.
    static func hex(_ address: Int) -> String { "0x" + String(address, radix: 16) }
}
