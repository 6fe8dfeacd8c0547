import DataFormats
import ObjectStore
import PostgresConnections
import Transfer

/// Keeps tables of a PostgreSQL database equal to a store.
///
/// Each step is one transaction, which also records the version.
///
///     let mirror = try PostgresMirror("postgres://localhost/zoo", schema: "public", identity: "…")
///     try mirror.fill(store.frozenView())
///     try mirror.apply(change, since: older.commitIdentity(of: older.version)) { older }
///
/// The tables are those of an export. `moonpool.publications` has a row for each schema that is kept up to date.
/// Confined to the thread of the store.
package final class PostgresMirror {
    /// The recorded position of a schema of the database.
    package struct Position: Equatable, Sendable {
        /// The identity of the store.
        package let identity: String
        /// The version of the store, when it was recorded.
        package let version: UInt64
        /// The identity of the commit of that version; empty if an older build has recorded the position.
        package let commit: String
    }

    /// The error if another process has published to the schema since this process read the position.
    package struct Fenced: Error {}

    private let address: String
    private let schemaName: String
    private let identity: String
    private let server: PostgresConnection
    private var layout: RelationalLayout?
    private var layoutSchema: Schema?
    /// The paths of the stages, by their content: temporary tables that are empty at the start of a transaction.
    private var stages: [String: String] = [:]
    private var lastStage = 0

    /// Connects to a database.
    ///
    /// Throws a `FormatError` with the server's message.
    package init(
        _ address: String, schema: String, identity: String
    ) throws {
        self.address = address
        schemaName = schema
        self.identity = identity
        server = try PostgresConnection(address)
        // The server's settings determine whether a step is durable; a lost step is sent again.
        try server.run("SET client_min_messages = warning")
    }

    /// Whether the connection is open.
    package var isConnected: Bool { server.isConnected }

    /// Returns the recorded position of the schema; nil if no store is published to it.
    package func position() throws -> Position? {
        guard
            try server.rows("SELECT to_regclass('moonpool.publications') IS NOT NULL")[0][0] == "t"
        else { return nil }
        try convertPublications(on: server)
        guard
            let row = try server.rows(
                "SELECT store, version, commit_identity FROM moonpool.publications WHERE schema_name = $1",
                [schemaName]
            ).first, let identity = row[0], let version = row[1].flatMap({ UInt64($0) })
        else { return nil }
        return Position(identity: identity, version: version, commit: row[2] ?? "")
    }

    /// Converts the table of an older build.
    private func convertPublications(on server: PostgresConnection) throws {
        try server.run(
            "ALTER TABLE moonpool.publications DROP COLUMN IF EXISTS lineage, "
                + "ADD COLUMN IF NOT EXISTS commit_identity text")
    }

    // MARK: All objects

    /// Writes all objects of a version, in one transaction.
    ///
    /// `existing` determines what happens to existing tables. Throws the errors of an export.
    package func fill(
        _ view: StoreView, existing: PostgresOptions.ExistingTables
    ) throws {
        var options = PostgresOptions()
        options.schema = schemaName
        options.existingTables = existing
        let classes = view.schema.classes.sorted { $0.name < $1.name }
        let target = try PostgresTarget(address, options) { server in
            try self.record(view, on: server)
        }
        try target.export(classes, of: view, isWhole: true) {
            try Results(.frozen(view), all: $0).keys()
        }
        layout = nil
    }

    private func record(_ view: StoreView, on server: PostgresConnection) throws {
        try PostgresMetadata.createSchema(on: server)
        try server.run(
            """
            CREATE TABLE IF NOT EXISTS moonpool.publications (schema_name text PRIMARY KEY, store text NOT NULL, \
            version bigint NOT NULL, published_at timestamptz NOT NULL, commit_identity text)
            """)
        try convertPublications(on: server)
        _ = try server.rows(
            """
            INSERT INTO moonpool.publications VALUES ($1, $2, $3, now(), $4) ON CONFLICT (schema_name) DO UPDATE SET \
            store = EXCLUDED.store, version = EXCLUDED.version, published_at = now(), \
            commit_identity = EXCLUDED.commit_identity
            """,
            [
                schemaName, identity, String(view.version),
                view.commitIdentity(of: view.version),
            ])
    }

    // MARK: Steps

    /// Writes the changes of a step, in one transaction that also updates the recorded version.
    ///
    /// `since` is the identity of the commit before the step. `older` is called for the previous version if objects with a primary key were deleted. Throws ``Fenced``, and a
    /// `FormatError` with the server's message or with the row.
    package func apply(
        _ change: VersionChange, since: String, older: () throws -> StoreView
    ) throws {
        let view = change.newer
        let layout = try layout(of: view.schema)
        let rows = RelationalRows(view, layout.dialect)
        try server.run("BEGIN")
        do {
            let moved = try server.rows(
                """
                UPDATE moonpool.publications SET version = $3, commit_identity = $4, published_at = now() \
                WHERE schema_name = $1 AND store = $2 AND commit_identity = $5 RETURNING 1
                """,
                [
                    schemaName, identity, String(view.version),
                    view.commitIdentity(of: view.version), since,
                ])
            guard moved.count == 1 else { throw Fenced() }
            let classes = try change.classes
            for entry in classes where !entry.deleted.isEmpty {
                guard let table = layout.table(of: entry.classSchema) else { continue }
                let view = table.isNumbered ? view : try older()
                // Deleting a row also deletes the elements of its collections.
                try delete(
                    entry.deleted.map(\.key), of: entry.classSchema, from: table.name,
                    table.keyColumn, RelationalRows(view, layout.dialect), layout)
            }
            for entry in classes {
                guard let table = layout.table(of: entry.classSchema) else { continue }
                try write(entry, to: table, rows: rows, layout: layout)
            }
            try server.run("COMMIT")
        } catch {
            // The error is ignored: the first error is more informative than an error of the rollback.
            try? server.run("ROLLBACK")
            stages = [:]
            throw error
        }
    }

    private func layout(of schema: Schema) throws -> RelationalLayout {
        if let layout, layoutSchema === schema { return layout }
        let classes = schema.classes.sorted { $0.name < $1.name }
        let created = try RelationalLayout(
            classes, classes, isWhole: true, in: PostgresDialect(schemaName: schemaName))
        for stage in stages.values { try server.run("DROP TABLE IF EXISTS \(stage)") }
        stages = [:]
        layout = created
        layoutSchema = schema
        return created
    }

    /// Deletes the rows with the keys of objects in a column.
    private func delete(
        _ keys: [ObjectKey], of classSchema: ClassSchema, from table: String,
        _ column: String,
        _ rows: RelationalRows, _ layout: RelationalLayout
    ) throws {
        let type = layout.dialect.columnType(classSchema.keyType)
        let stage = try stage("keys of \(table)", "(\(SQLText.quoted(column)) \(type))")
        try rows.writeKeys(keys, of: classSchema, to: PostgresRowWriter(server, stage, [column]))
        let path = layout.dialect.path(table)
        try server.run("\(PostgresTarget.deletion(path, column, of: stage)); TRUNCATE \(stage)")
    }

    private func write(
        _ entry: VersionChange.ClassChange, to table: RelationalLayout.Table, rows: RelationalRows,
        layout: RelationalLayout
    ) throws {
        let inserted = entry.inserted.map(\.key)
        let keys = inserted + entry.modified.map(\.object.key)
        guard !keys.isEmpty else { return }
        let dialect = layout.dialect
        let path = dialect.path(table.name)
        let stage = try stage("rows of \(table.name)", "(LIKE \(path))")
        try rows.write(table, keys, to: PostgresRowWriter(server, stage, table.columnNames))
        try server.run(
            PostgresTarget.merge(stage, into: path, table.columnNames, key: table.keyColumn) { _ in
                nil
            })
        try server.run("TRUNCATE \(stage)")
        for join in table.joins {
            let touched =
                inserted
                + entry.modified.filter { row in
                    row.properties.contains { $0.column == join.property.column }
                }.map(\.object.key)
            guard !touched.isEmpty else { continue }
            let path = dialect.path(join.name)
            try delete(touched, of: join.owner, from: join.name, "owner", rows, layout)
            try rows.write(join, touched, to: PostgresRowWriter(server, path, join.columnNames))
        }
    }

    /// Returns the path of the stage for a content.
    private func stage(_ content: String, _ columns: String) throws -> String {
        if let known = stages[content] { return known }
        // A stage that an earlier transaction has made keeps its name after a rollback.
        lastStage += 1
        let path = "pg_temp.moonpool_mirror_\(lastStage)"
        try server.run("CREATE TEMPORARY TABLE \(path) \(columns)")
        stages[content] = path
        return path
    }
}
