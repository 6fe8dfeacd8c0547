import DataFormats
import ObjectStore

/// Where rows come from: an opened file of some format.
protocol RowSource: AnyObject {
    /// What becomes of what has no counterpart in a store.
    var notes: [String] { get }
    /// The part of the work that is done, from 0 to 1, where that is known.
    var part: Double? { get }
    /// The classes of the rows, as the file describes them or its rows show; those included that the schema has.
    func classes(besides known: Schema) throws -> [ClassSchema]
    /// The version of the schema that the file states; nil if it states none.
    func schemaVersion() throws -> UInt64?
    /// Hands over all rows.
    func read(into importer: Importer) throws
}

extension RowSource {
    func schemaVersion() throws -> UInt64? { nil }
}

/// The rows of a file that is read from its beginning to its end.
final class TextSource: RowSource {
    let notes: [String] = []
    private let path: String
    private let format: TransferFormat
    private let options: ImportOptions
    private let file: FileReader

    /// Opens the file.
    init(_ path: String, _ format: TransferFormat, _ options: ImportOptions) throws {
        self.path = path
        self.format = format
        self.options = options
        file = try FileReader(path)
    }

    var part: Double? {
        file.size.flatMap { $0 > 0 ? Double(file.position) / Double($0) : nil }
    }

    func classes(besides known: Schema) throws -> [ClassSchema] {
        if let name = options.className, known.find(name) != nil { return [] }
        // What comes through a pipe cannot be read twice.
        guard file.size != nil else { return [] }
        return try ClassInference.classes(in: path, format, options)
    }

    func read(into importer: Importer) throws {
        switch format {
        case .jsonLines: try JSONLinesSource(file).read(into: importer)
        case .json: try JSONSource(file).read(into: importer)
        case .csv: try CSVSource(file).read(into: importer)
        case .lua: try LuaSource(file).read(into: importer)
        case .sqlite, .realm: throw StoreError(.invalidArgument, "a database is not text")
        }
    }
}
