/// The indices of scripts, which count from 1.
enum ScriptIndex {
    /// The position, from 0, that an index stands for; absurd indices stay out of range without overflowing.
    static func position(_ index: Int64) -> Int { Int(max(index, .min + 1)) - 1 }
}
