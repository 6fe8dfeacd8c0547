import DataFormats
import EventLoops
import ObjectStore
import Reference
import SystemCalls
import Transfer

/// Creates the first migration of a folder from the schema of a Realm file.
enum RealmMigration {
    /// Writes the migration file and returns its path.
    ///
    /// Throws `invalid_argument` if the folder already contains migrations.
    static func write(_ realm: String, _ options: RealmOptions, in folder: String) throws -> String
    {
        guard RealmCopy.isRealm(realm) else {
            throw StoreError(
                .invalidArgument, "'\(realm)' is not a Realm file; --dir requires a Realm file")
        }
        let names = ProcessServices.names(in: folder)
        guard let names else {
            throw StoreError(
                .invalidArgument, "the folder '\(folder)' cannot be read; create it first")
        }
        if let first = names.sorted().first(where: {
            $0.first?.isNumber == true && $0.hasSuffix(".lua")
        }) {
            throw StoreError(
                .invalidArgument,
                "the folder '\(folder)' already contains migrations, such as '\(first)'; use an empty folder"
            )
        }
        let store = try CommandStore.openInMemory()
        defer { store.close() }
        try store.define(try RowFormats.realm.required().classes(realm, options))
        let path = folder + (folder.hasSuffix("/") ? "" : "/") + "0001_from_realm.lua"
        let file = realm.split(separator: "/").last ?? ""
        let schema = SchemaDocument(store.schema).lua(indent: 2)
        let writer = try FileWriter(path)
        try writer.write(
            "-- The schema of the Realm file \(file).\nreturn {\n  schema = \(schema),\n}\n")
        try writer.finish()
        return path
    }
}
