extension String {
    /// Returns whether the string precedes another one in the order of their UTF-8 bytes, which is that of map keys.
    package func precedesInBytes(_ other: String) -> Bool {
        utf8.lexicographicallyPrecedes(other.utf8)
    }

    /// Returns whether two texts consist of the same bytes; Swift also considers other forms of "é" equal.
    package func hasSameBytes(as other: String) -> Bool {
        self == other && utf8.elementsEqual(other.utf8)
    }
}
