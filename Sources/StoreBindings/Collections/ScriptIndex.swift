/// The indexes of scripts, which start at 1.
enum ScriptIndex {
    /// Returns the index from 0.
    ///
    /// Extreme indexes stay out of range without overflowing.
    static func position(_ index: Int64) -> Int { Int(max(index, .min + 1)) - 1 }
}
