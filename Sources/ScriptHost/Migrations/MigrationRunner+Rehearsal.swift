import EventLoops
import ObjectStore
import StoreBindings

extension MigrationRunner {
    /// Applies the pending migrations to a copy of the store, which is removed afterward, and reports the effects.
    ///
    /// With `sample`, the copy contains this number of objects of each class, and all objects that they link to. All
    /// objects at which `m:each` fails are reported. Throws the errors of ``up(to:backup:)``.
    package func rehearse(to target: Int? = nil, sample: Int? = nil) throws -> UpReport {
        try StoreFiles.withWorkFolder(beside: store) { folder in
            try rehearse(to: target, sample: sample, with: "\(folder)/store")
        }
    }

    /// Implements ``rehearse(to:sample:)`` with the path of the copy.
    private func rehearse(
        to target: Int?, sample: Int?, with path: String
    ) throws -> UpReport {
        var objects = 0
        if ProcessServices.size(of: store) ?? 0 > 0 {
            let borrowed = try borrowExisting(isReadOnly: true)
            defer { borrowed.end() }
            try requireSound(comparison(with: borrowed.store))
            if let sample {
                objects = try borrowed.store.objectCount
                try borrowed.store.copySample(of: sample, to: path)
            } else {
                try borrowed.store.backup(to: path)
            }
        }
        let trial = MigrationRunner(module, store: path, directory: directory)
        trial.isTrial = true
        trial.progress = progress
        trial.lockTimeout = lockTimeout
        trial.continuesEdited = continuesEdited
        let (copied, memory) = (
            objects > 0 ? try objectCount(at: path) : 0, ProcessServices.peakMemory
        )
        let report = try trial.up(to: target, backup: .never)
        var rehearsal = UpReport(
            store: store, applied: report.applied, isRehearsal: true, seconds: report.seconds,
            peakMemory: report.peakMemory)
        if copied > 0 {
            let factor = Double(objects) / Double(copied)
            let growth = Double(report.peakMemory - memory) * factor
            rehearsal.estimate = UpReport.Estimate(
                objects: objects, copiedObjects: copied, seconds: report.seconds * factor,
                memory: memory + Int(min(growth, Double(UpReport.Estimate.mostGrowth))))
        }
        return rehearsal
    }

    private func objectCount(at path: String) throws -> Int {
        let borrowed = try module.borrow(StoreConfiguration(.file(path), isReadOnly: true))
        defer { borrowed.end() }
        return try borrowed.store.objectCount
    }

    /// Returns the state of a store for `check`; pending files are compiled and rehearsed on a copy.
    ///
    /// Throws errors of opening the store, and an interrupt.
    package func check() throws -> (
        state: MigrationState, findings: [MigrationFinding], rehearsal: UpReport?
    ) {
        let comparison = try examine()
        var state = self.state(comparison)
        var findings = zip(comparison.problems, state.problems).map { problem, message in
            MigrationFinding(
                .drift, message, advice: problem.advice(store: store, folder: directory.path),
                path: problem.file?.path, number: problem.file?.number)
        }
        findings += directory.strayTests.map {
            MigrationFinding(
                .test, directory.message(aboutStray: $0), advice: MigrationDirectory.strayAdvice,
                path: MigrationListing.path($0, in: directory.path))
        }
        state.problems += findings.filter { $0.kind == .test }.map(\.message)
        guard comparison.problems.isEmpty, !comparison.history.pending.isEmpty else {
            return (state, findings, nil)
        }
        var rehearsal: UpReport?
        do {
            let report = try rehearse()
            rehearsal = report
            for migration in report.applied {
                for failure in migration.failures {
                    findings.append(
                        MigrationFinding(
                            .failure, failure.message, path: migration.file.path,
                            line: MigrationFinding.line(
                                in: failure.message, of: migration.file.path),
                            number: migration.file.number, object: failure.object))
                }
                if migration.failureCount > 0 {
                    state.problems.append(
                        "'\(migration.file.path)' fails at \(migration.failureCount) "
                            + "object\(migration.failureCount == 1 ? "" : "s"), such as "
                            + "\(migration.failures[0].object): \(migration.failures[0].message)")
                }
            }
        } catch {
            if MigrationFailure.code(of: error) == "interrupted" { throw error }
            let finding = MigrationFinding(error, in: comparison.history.pending)
            findings.append(finding)
            state.problems.append(finding.message)
        }
        return (state, findings, rehearsal)
    }
}

extension Store {
    fileprivate var objectCount: Int {
        get throws { try schema.classes.reduce(0) { try $0 + view.count(of: $1) } }
    }
}
