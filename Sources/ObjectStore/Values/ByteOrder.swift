extension String {
    /// Whether this comes before another text in the order of their UTF-8 bytes, which is that of the keys
    /// of maps.
    package func precedesInBytes(_ other: String) -> Bool {
        utf8.lexicographicallyPrecedes(other.utf8)
    }
}
