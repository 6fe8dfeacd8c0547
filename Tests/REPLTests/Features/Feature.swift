import Testing

/// A feature and its test.
struct Feature: Sendable {
    let name: String
    /// Whether the terminal must move its cursor.
    var needsCursor = false
    let trial: @Sendable (FeatureTrial) throws -> Void

    init(
        _ name: String, needsCursor: Bool = false,
        _ trial: @escaping @Sendable (FeatureTrial) throws -> Void
    ) {
        self.name = name
        self.needsCursor = needsCursor
        self.trial = trial
    }
}

/// A kind of terminal to test features on.
struct FeatureTerminal: CustomTestStringConvertible, Sendable {
    var columns = 80
    var isColored = true
    var isDumb = false

    var environment: [String: String] {
        [
            "TERM": isDumb ? "dumb" : "xterm-256color", "NO_COLOR": isColored ? "" : "1",
            "PAGER": "sed 's/^/PAGED /'", "EDITOR": "sed -i s/40/41/",
        ]
    }
    var testDescription: String {
        "\(columns) columns" + (isDumb ? ", TERM=dumb" : "") + (isColored ? "" : ", NO_COLOR")
    }
}
