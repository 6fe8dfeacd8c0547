/// How a Realm file is read.
package struct RealmOptions: Sendable {
    /// The key of an encrypted file: 128 hexadecimal digits, Base64, or `@` and the path of a file with the key.
    package var key: String?
    /// Whether a damaged file is read as far as possible.
    ///
    /// The report names what is missing.
    package var isRescue = false
    /// Whether UUIDs are stored as .NET wrote them until 2022, with the first three parts in reverse byte order.
    package var hasDotNetGUIDs = false

    /// Creates the options of an intact file without encryption.
    package init(key: String? = nil, isRescue: Bool = false, hasDotNetGUIDs: Bool = false) {
        self.key = key
        self.isRescue = isRescue
        self.hasDotNetGUIDs = hasDotNetGUIDs
    }
}
