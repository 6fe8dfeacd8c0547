import ObjectStore

/// An option of an import or export, and what it acts on.
///
/// This is the only place that decides whether an option has an effect. An option without an effect is an error, on the
/// command line and in Lua.
struct OptionScope<Options> {
    private let name: String
    private let formats: Set<TransferFormat>
    private let isGiven: (Options) -> Bool
    private let needed: (name: String, isGiven: (Options) -> Bool)?

    /// Declares an option; `needs` is another option without which it has no effect.
    init(
        _ name: String, _ formats: Set<TransferFormat>,
        needs needed: (String, (Options) -> Bool)? = nil, isGiven: @escaping (Options) -> Bool
    ) {
        self.name = name
        self.formats = formats
        self.needed = needed
        self.isGiven = isGiven
    }

    /// Throws `invalid_argument` for a given option without an effect; `action` is `import` or `export`.
    static func check(
        _ options: Options, _ scopes: [Self], _ action: String, of format: TransferFormat
    ) throws {
        for scope in scopes where scope.isGiven(options) {
            guard scope.formats.contains(format) else {
                let formats = TransferFormat.allCases.filter(scope.formats.contains)
                throw StoreError(
                    .invalidArgument,
                    "the option '\(scope.name)' has no effect on the \(action) of \(format.rawValue), only of "
                        + formats.map(\.rawValue).joined(separator: ", "))
            }
            if let needed = scope.needed, !needed.isGiven(options) {
                throw StoreError(
                    .invalidArgument,
                    "the option '\(scope.name)' has no effect without '\(needed.name)'")
            }
        }
    }
}

extension Set<TransferFormat> {
    /// Comma-separated and tab-separated values.
    static let csv: Set = [.csv, .tsv]
    /// The formats of text files.
    static let texts: Set = [.jsonLines, .json, .geoJSON, .csv, .tsv, .lua]
    static let databases: Set = [.sqlite, .realm, .postgres]
}
