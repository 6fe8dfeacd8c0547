import DataFormats
import ObjectStore

/// Writes objects of a store to a file or to standard output.
///
/// Reads one version throughout, whatever is committed meanwhile. Memory does not grow with the number of objects beyond
/// the keys of a query's results. Confined to the thread of the store.
public final class Exporter {
    /// What to export.
    public enum Subject {
        /// All classes, with the schema, so that an empty store can take them.
        case store(Store)
        /// The objects of one query or class.
        case results(Results)
    }

    private let subject: Subject
    private let format: TransferFormat
    private let progress: TransferProgress?
    private var written = 0

    /// Prepares an export.
    ///
    /// `progress` is called now and then with the number of objects written.
    public init(_ subject: Subject, as format: TransferFormat, progress: TransferProgress? = nil) {
        self.subject = subject
        self.format = format
        self.progress = progress
    }

    /// Writes the file; how many objects it holds.
    ///
    /// The file appears whole or not at all; `-` is standard output. Throws `invalid_argument` for what the format
    /// cannot hold, a `FormatError` for what the system refuses.
    public func write(to path: String) throws -> Int {
        switch subject {
        case .store(let store):
            guard format != .csv else {
                throw StoreError(
                    .invalidArgument, "a CSV file holds one class; say which one to export")
            }
            let view = try store.frozenView()
            let file = try FileWriter(path)
            try writeAll(view, file)
            try file.finish()
        case .results(let results):
            let file = try FileWriter(path)
            try writeOne(results, file)
            try file.finish()
        }
        progress?(written, nil)
        return written
    }

    private func writeAll(_ view: StoreView, _ file: FileWriter) throws {
        let classes = view.schema.classes.sorted { $0.name < $1.name }
        var json = JSONWriter()
        json.beginObject()
        json.key("$schema")
        SchemaJSON.write(classes, to: &json)
        if format == .jsonLines {
            json.endObject()
            json.newLine()
        }
        for classSchema in classes where !classSchema.isEmbedded {
            let keys = try Results(.frozen(view), all: classSchema).keys()
            if format == .json {
                json.indent(2)
                json.key(classSchema.name)
            }
            let rows = JSONRows(
                view, classSchema, namesClass: format == .jsonLines, isList: format == .json)
            try rows.write(keys, &json) { try self.flush(&$0, file, force: false) }
        }
        if format == .json {
            json.indentEnd(0)
            json.endObject()
            json.newLine()
        }
        try flush(&json, file, force: true)
    }

    private func writeOne(_ results: Results, _ file: FileWriter) throws {
        let view = results.source.view
        let classSchema = try results.classSchema()
        let keys = try results.keys()
        if format == .csv {
            var csv = CSVRows(view, classSchema)
            try csv.write(keys, header: file.write) { bytes in
                self.count()
                try file.write(bytes)
            }
            return
        }
        var json = JSONWriter()
        let rows = JSONRows(view, classSchema, namesClass: false, isList: format == .json)
        try rows.write(keys, &json) { try self.flush(&$0, file, force: false) }
        if format == .json { json.newLine() }
        try flush(&json, file, force: true)
    }

    private func flush(_ json: inout JSONWriter, _ file: FileWriter, force: Bool) throws {
        if !force { count() }
        guard force || json.bytes.count > 64 << 10 else { return }
        try file.write(json.bytes)
        json.removeAll()
    }

    private func count() {
        written += 1
        if written % 4096 == 0 { progress?(written, nil) }
    }
}

/// Hears of objects done, and of the part of the work done from 0 to 1 where that is known.
public typealias TransferProgress = (_ objects: Int, _ part: Double?) -> Void
