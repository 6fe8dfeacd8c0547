/// Draws a number as a horizontal bar.
enum Bar {
    private static let eighths = Array(" ▏▎▍▌▋▊▉")

    /// Returns a bar whose length is proportional to `count`; `greatest` has the full width.
    static func text(_ count: Int, of greatest: Int, width: Int) -> String {
        guard greatest > 0, count > 0 else { return "" }
        let units = max(1, Int((Double(count) / Double(greatest) * Double(width * 8)).rounded()))
        let full = String(repeating: "█", count: units / 8)
        return units % 8 == 0 ? full : full + String(eighths[units % 8])
    }
}
