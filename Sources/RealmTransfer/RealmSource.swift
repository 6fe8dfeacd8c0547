import ObjectStore
import RealmFiles
import Transfer

/// Realm files as an optional format.
package struct RealmFormat: ReportingFormat {
    package init() {}

    package func source(_ path: String, _ options: ImportOptions) throws -> any RowSource {
        try RealmSource(path, options)
    }

    package func report(_ path: String, _ options: RealmOptions) throws -> any RowReport {
        try RealmReport(path, options)
    }
}

/// The classes and objects of a Realm file, as rows for an import.
///
/// Objects are created in one pass, with linked classes first. Circular links are set in a second pass. Memory does not
/// grow with the file, except for the keys of objects whose keys are not consecutive.
final class RealmSource: RowSource {
    private let path: String
    private let options: ImportOptions
    private let file: RealmFile
    private let plan: RealmPlan
    private var values: RealmValues?
    private var rowsDone = 0
    private let rowsTotal: Int

    /// Opens the file.
    init(_ path: String, _ options: ImportOptions) throws {
        self.path = path
        self.options = options
        file = try RealmErrors.wrapping(path) {
            try RealmFile(
                path, key: options.realm.key.map { try RealmKey($0) },
                rescue: options.realm.isRescue)
        }
        plan = try RealmPlan(file, options)
        rowsTotal = plan.classes.reduce(0) {
            $0 + ($1.source.kind == .embedded ? 0 : $1.source.count)
        }
    }

    var notes: [String] {
        var notes = plan.notes + (values?.losses.notes ?? [])
        let damage = file.damage
        guard !damage.isEmpty else { return notes }
        if file.isPreviousVersion {
            notes.append("the newest version is damaged; the previous version is used")
        }
        notes.append(
            "damaged: \(damage.count) parts of the file cannot be read; \(damage.lostObjects) objects and "
                + "\(damage.lostValues) values are lost")
        notes += damage.messages.prefix(20).map { "damaged: \($0)" }
        if damage.count > 20 { notes.append("damaged: … \(damage.count - 20) more") }
        return notes
    }

    var part: Double? { rowsTotal > 0 ? min(Double(rowsDone) / Double(rowsTotal), 1) : nil }

    var fields: [String]? {
        plan.classes.flatMap { found in
            ImportOptions.fields(
                RealmPlan.plainName(found.source), found.source.properties.map(\.name))
        }
    }

    func classes(besides known: Schema) throws -> ClassInference.Result {
        ClassInference.Result(classes: plan.classes.map(\.schema))
    }

    /// Returns the schema version of the app.
    func schemaVersion() throws -> UInt64? {
        try RealmErrors.wrapping(path) { try file.schemaVersion() }
    }

    func read(into importer: Importer) throws {
        let schemas = try plan.classes.map { try importer.store.view.schema.require($0.name) }
        let values = RealmValues(
            file, plan, schemas, swapsGUIDs: options.realm.hasDotNetGUIDs)
        self.values = values
        try whileUnchanged {
            // Linked classes come first, except for circular links.
            let positions = plan.classes.indices
                .targetsFirst { plan.classes[$0].columns.compactMap(\.target) }
                .filter { plan.classes[$0].source.kind != .embedded }
            let objects = RealmObjects(importer, plan: plan, schemas: schemas, values: values)
            let pass = file.makePass()
            for position in positions {
                try objects.create(position, pass) { rowsDone += $0 }
                values.isComplete[position] = true
            }
            let links = file.makePass()
            for position in positions { try objects.complete(position, links) }
            for (position, found) in plan.classes.enumerated() where found.source.kind == .embedded
            {
                let missing = found.source.count - values.partCounts[position]
                if missing > 0 {
                    values.losses.add(.orphans, count: missing, found.name)
                } else if missing < 0 {
                    values.losses.add(.sharedParts, count: -missing, found.name)
                }
            }
        }
    }

    /// Runs the work.
    ///
    /// If another program has written to the file in the meantime, throws an error that reports the write, instead of
    /// any other error.
    private func whileUnchanged(_ work: () throws -> Void) throws {
        try RealmErrors.wrapping(path) {
            do {
                try work()
            } catch let error as RealmFileError where error.kind == .damaged {
                try file.checkUnchanged()
                throw error
            }
            try file.checkUnchanged()
        }
    }
}

/// Converts errors of Realm files to errors of stores.
enum RealmErrors {
    /// Runs the work and converts an error of the file to `file_corrupt` or `invalid_argument`.
    static func wrapping<Result>(_ path: String, _ work: () throws -> Result) throws -> Result {
        do {
            return try work()
        } catch let error as RealmFileError {
            throw StoreError(
                error.kind == .damaged ? .fileCorrupt : .invalidArgument,
                "'\(path)': \(error.message)"
                    + (error.kind == .damaged
                        ? "; --rescue (in Lua, rescue = true) reads what can be read" : ""))
        }
    }
}
