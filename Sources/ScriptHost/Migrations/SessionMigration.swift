import EventLoops
import ObjectStore
import Reference
import StoreBindings

/// Writes the changes of the schema that a script made with `store:define` as the next migrations of a folder.
///
/// A migration repeats one change with a function, because such a function sees the schemas before and after its
/// change; changes without a function join it as far as they only add. The files are rehearsed on a copy of the store
/// before the changes, and recorded as applied in the store.
package struct SessionMigration {
    private let module: StoreModule
    private let handle: StoreHandle
    private let folder: String

    /// Creates a writer for a store and a folder, which is created if it does not exist.
    package init(_ module: StoreModule, _ handle: StoreHandle, folder: String) {
        self.module = module
        self.handle = handle
        self.folder = folder
    }

    /// The written files and their effect.
    package struct Report {
        /// The paths of the files.
        package let files: [String]
        /// The effects of the migrations on the copy.
        package let rehearsal: UpReport
        /// The migrations that were recorded as applied; empty for a store in memory.
        package let recorded: [MigrationFile]

        /// The report for scripts.
        package var value: ReportValue {
            .members([
                "files": .texts(files), "rehearsal": rehearsal.value,
                "recorded": .array(
                    recorded.map {
                        .members(["number": .count($0.number), "name": .text($0.name)])
                    }),
            ])
        }

        /// The report as text.
        package var lines: [String] {
            files.map { "wrote \($0)" } + MigrationText.lines(rehearsal)
                + recorded.map {
                    "\(MigrationState.number($0.number)) \($0.name)  recorded as applied, not run"
                }
        }
    }

    /// Changes that one file repeats.
    private struct Step {
        let before: Schema
        var after: [ClassSchema]
        var function: String?
        var isAdditive: Bool

        /// Adds a later change if the file of both has their effect; returns whether it does.
        mutating func join(_ next: Step) -> Bool {
            guard function == nil || next.function == nil && next.isAdditive,
                next.function == nil || isAdditive
            else { return false }
            after = next.after
            function = function ?? next.function
            isAdditive = isAdditive && next.isAdditive
            return true
        }
    }

    /// Writes, rehearses and records the migrations since a version; nil if the schema has not changed.
    ///
    /// By default, the migrations contain all changes since the store was opened or the last call. Throws `out_of_range`
    /// for a version that cannot be read, `migration_needed` if the folder's last migration does not have the
    /// schema of that version, `invalid_argument` for a name that the folder has or a function whose text is not known,
    /// and the errors of the migrations; the folder is then unchanged.
    package func write(name: String?, since version: UInt64?) throws -> Report? {
        let definitions = handle.definitions(since: version)
        try requireComplete(definitions, since: version)
        guard let first = definitions.first else { return nil }
        guard first.wasEmpty || first.view != nil else {
            throw StoreError(
                .outOfRange,
                "version \(first.base) cannot be read, because the store keeps \(handle.store.configuration.history) "
                    + "versions; write the migration with moonpool migrate plan")
        }
        let hasMade = try makeFolder()
        var written: [String] = []
        do {
            let listing = try MigrationListing(folder, module)
            try requireFree(name, listing)
            if listing.files.isEmpty, !first.before.classes.isEmpty {
                let number = Int(clamping: max(first.before.version, 1))
                written.append(try writeStart(number, first.before))
            } else if !listing.files.isEmpty {
                try requireBase(first)
            }
            let numbersBefore = try MigrationListing(folder, module).files.last?.number ?? 0
            for (index, step) in try steps(definitions).enumerated() {
                written.append(try write(step, name, index, since: first.base))
            }
            let directory = try MigrationDirectory(folder, module)
            let rehearsal = try rehearse(first, directory, from: numbersBefore)
            if let failed = rehearsal.applied.first(where: { $0.failureCount > 0 }) {
                throw StoreError(
                    .invalidArgument,
                    MigrationText.migration(failed, verb: "rehearsed").joined(separator: "\n"))
            }
            let recorded =
                handle.store.path == nil
                ? []
                : try MigrationRunner(module, store: handle.name, directory: directory)
                    .baseline(to: directory.files.last?.number).recorded
            handle.forgetDefinitions()
            return Report(files: written, rehearsal: rehearsal, recorded: recorded)
        } catch {
            for path in written { ProcessServices.remove(path) }
            if hasMade { ProcessServices.removeFolder(folder) }
            throw error
        }
    }

    /// Throws `out_of_range` if the schema was also changed in another way since a version.
    private func requireComplete(_ definitions: [Definition], since version: UInt64?) throws {
        let store = handle.store
        if let version, version > store.version {
            throw StoreError(
                .outOfRange,
                "version \(version) does not exist; the latest version is \(store.version)")
        }
        let known = Set(definitions.map(\.base))
        let start = max(
            version ?? definitions.first?.base ?? store.version, handle.migratedVersion)
        let foreign = try store.versions().first {
            $0.version > start && $0.changesSchema && !known.contains($0.version - 1)
        }
        let isConnected = try zip(definitions, definitions.dropFirst()).allSatisfy {
            try SchemaDifference.between($1.before, and: $0.after).isEmpty
        }
        guard let foreign else {
            if isConnected { return }
            throw StoreError(
                .outOfRange,
                "the schema was also changed by another script or process; write the "
                    + "migration with moonpool migrate plan")
        }
        throw StoreError(
            .outOfRange,
            "the changes since version \(start) are not all known: version \(foreign.version) changed the schema, but not with "
                + "store:define of this script; begin at version \(foreign.version), or write the migration with moonpool "
                + "migrate plan")
    }

    private func makeFolder() throws -> Bool {
        guard !ProcessServices.exists(folder) else { return false }
        if let reason = ProcessServices.makeFolder(folder) {
            throw StoreError(
                .invalidArgument, "the folder '\(folder)' cannot be created: \(reason)")
        }
        return true
    }

    private func requireFree(_ name: String?, _ listing: MigrationListing) throws {
        guard let name else { return }
        guard !name.isEmpty,
            name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") })
        else {
            throw StoreError(
                .invalidArgument,
                "the name of a migration has letters, digits and _, got '\(name)'")
        }
        guard let known = listing.files.first(where: { $0.name == name }) else { return }
        throw StoreError(
            .invalidArgument, "'\(known.path)' already has the name '\(name)'; choose another one")
    }

    private func requireBase(_ first: Definition) throws {
        let directory = try MigrationDirectory(folder, module)
        let last = directory.files.last
        let schema = try MigrationScripts(directory, module).schema(after: last)
        let differences = try SchemaDifference.between(first.before, and: schema)
        guard !differences.isEmpty else { return }
        throw StoreError(
            .migrationNeeded,
            "version \(first.base) does not have the schema of '\(last?.fileName ?? folder)': "
                + differences.map(\.description).joined(separator: ", ")
                + "; begin at another version, or compare both with moonpool migrate check")
    }

    private func steps(_ definitions: [Definition]) throws -> [Step] {
        let text = FunctionText(module)
        var steps: [Step] = []
        for definition in definitions {
            let differences = try SchemaDifference.between(definition.before, and: definition.after)
            let step = Step(
                before: definition.before, after: definition.after,
                function: try definition.function.map(text.text),
                isAdditive: differences.allSatisfy(\.isAdditive))
            if steps.isEmpty || !steps[steps.count - 1].join(step) { steps.append(step) }
        }
        return steps
    }

    private func writeStart(_ number: Int, _ schema: Schema) throws -> String {
        let plan = try SchemaPlan(from: [], to: schema.classes, answer: { _ in .no })
        return try create(number, "start", plan.script(for: handle.name, to: .firstFile))
    }

    private func write(_ step: Step, _ name: String?, _ index: Int, since version: UInt64) throws
        -> String
    {
        let plan = try SchemaPlan(
            from: step.before.classes, to: step.after, answer: { _ in .no })
        let files = try MigrationListing(folder, module).files
        let number = (files.last?.number ?? 0) + 1
        let parent =
            files.isEmpty ? nil : try MigrationDirectory(folder, module).identity(before: number)
        let text = plan.script(
            for: handle.name,
            to: .session(
                parent: parent, isFirst: files.isEmpty, since: version, function: step.function))
        let base = name ?? plan.suggestedName
        return try create(number, index == 0 ? base : "\(base)_\(index + 1)", text)
    }

    private func create(_ number: Int, _ name: String, _ text: String) throws -> String {
        let path = MigrationListing.path("\(MigrationState.number(number))_\(name).lua", in: folder)
        guard !ProcessServices.exists(path) else {
            throw StoreError(.invalidArgument, "'\(path)' already exists; choose another name")
        }
        try MigrationFolderEdit.create(path, text)
        return path
    }

    /// Applies the files after a number to a copy of the store before the changes.
    private func rehearse(
        _ first: Definition, _ directory: MigrationDirectory, from number: Int
    ) throws -> UpReport {
        let place = handle.store.path ?? MigrationListing.path("store", in: folder)
        return try StoreFiles.withWorkFolder(beside: place) { work in
            let path = "\(work)/store"
            try handle.store.copy(first.view, schema: first.before, to: path)
            let runner = MigrationRunner(module, store: path, directory: directory)
            if number > 0, try runner.isUnrecorded(number) { _ = try runner.baseline(to: number) }
            runner.isTrial = true
            let report = try runner.up(backup: .never)
            return UpReport(
                store: handle.name, applied: report.applied, isRehearsal: true,
                seconds: report.seconds, peakMemory: report.peakMemory)
        }
    }
}
