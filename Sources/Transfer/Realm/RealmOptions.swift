/// The options for reading a Realm file.
package struct RealmOptions: Sendable {
    /// The key of an encrypted file: 128 hexadecimal digits, Base64, or `@` and the path of a file with the key.
    package var key: String?
    /// Whether to read a damaged file as far as possible.
    ///
    /// The report lists the missing parts.
    package var isRescue = false
    /// Whether UUIDs have the format of .NET until 2022, with the first three parts in reverse byte order.
    package var hasDotNetGUIDs = false

    /// Creates options; the default is an intact file without encryption.
    package init(key: String? = nil, isRescue: Bool = false, hasDotNetGUIDs: Bool = false) {
        self.key = key
        self.isRescue = isRescue
        self.hasDotNetGUIDs = hasDotNetGUIDs
    }
}
