/// Converts the indexes of scripts, which start at 1.
enum ScriptIndex {
    /// Returns the index counted from 0.
    ///
    /// An extreme index stays out of range and does not overflow.
    static func position(_ index: Int64) -> Int { Int(max(index, .min + 1)) - 1 }
}
