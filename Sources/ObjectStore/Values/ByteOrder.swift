extension String {
    /// Returns whether the string precedes another one in the order of their UTF-8 bytes, which is that of map keys.
    package func precedesInBytes(_ other: String) -> Bool {
        utf8.lexicographicallyPrecedes(other.utf8)
    }
}
