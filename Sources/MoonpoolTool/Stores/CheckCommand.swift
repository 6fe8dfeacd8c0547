import ArgumentParser
import EventLoops
import ObjectStore
import SystemCalls
import Transfer

/// The command `moonpool check STORE`: verifies a store.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Verify a store and report damage.",
        discussion: """
            Reads every page of the latest version, then every object, value, link, list, index entry and full-text \
            posting. Reports every changed byte that affects data or later writes; in a copy, and in most stores that \
            were closed, also changed unused bytes. Other processes can use the store in the meantime. The exit code is 0 \
            for an intact or empty store, and 1 for a damaged store or one that cannot be opened.

            --against OTHER also compares the histories of two stores, such as a store and a backup, and prints the last \
            commit that both have. The exit code is 1 if they have diverged: if each has commits that the other one does \
            not have.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Option(
        help: "Another store whose history is compared.",
        completion: .file(extensions: ["moonpool"]))
    var against: String?

    @OptionGroup var realm: RealmOptionGroup

    func run() throws {
        CommandInterruption.begin()
        try CommandFailure.shown {
            guard try !StoreFiles.isEmpty(store) else {
                return ProcessServices.writeOutput("\(store) is empty\n")
            }
            if try realm.isRealm(store) { return try checkRealm() }
            // The pages are verified before the store is opened: LMDB trusts the pages that it maps, and a damaged page
            // would crash the process.
            try report(StoreFiles.verifyPages(store))
            let opened = try CommandStore.open(store, isReadOnly: true)
            defer { opened.close() }
            try report(opened.verify())
            let classes = opened.schema.classes
            let objects = try classes.reduce(0) { try $0 + opened.objects($1.name).count() }
            ProcessServices.writeOutput(
                "\(store) is intact: \(classes.count) class\(classes.count == 1 ? "" : "es"), "
                    + "\(objects) object\(objects == 1 ? "" : "s")\n")
            if let against { try compare(opened, with: against) }
        }
    }

    /// Prints the last common commit of two stores; throws if they have diverged.
    private func compare(_ opened: Store, with path: String) throws {
        let other = try CommandStore.open(path, isReadOnly: true)
        defer { other.close() }
        guard let common = try opened.lastCommonVersion(with: other) else {
            throw StoreError(
                .invalidArgument,
                "'\(store)' and '\(path)' have no commit in common, as far as their histories reach back"
            )
        }
        let lines = [(store, opened, common.own), (path, other, common.other)].filter {
            $1.version > $2
        }.map {
            let since = $1.commit(of: $2 + 1).map { ", since \($0.time)" } ?? ""
            return "\($0) continues up to version \($1.version)\(since)\n"
        }
        let number = common.other == common.own ? "" : ", version \(common.other) of \(path)"
        ProcessServices.writeOutput(
            "the last common commit of \(store) and \(path) is version \(common.own)\(number)\n"
                + lines.joined())
        guard lines.count < 2 else {
            throw StoreError(
                .invalidArgument,
                "'\(store)' and '\(path)' have diverged after version \(common.own)")
        }
    }

    /// Reads every value of a Realm file and compares links with backlinks.
    private func checkRealm() throws {
        let report = try RowFormats.realm.required().report(store, realm.options)
        let progress = ProgressLine("checked")
        let faults = try report.check { progress.update($0, nil) }
        progress.end()
        guard faults.isEmpty else {
            for fault in faults { ProcessServices.writeOutput("\(fault)\n") }
            throw StoreError(
                .fileCorrupt,
                "'\(store)' is damaged; import what can be read with --rescue, or restore a backup"
            )
        }
        ProcessServices.writeOutput(
            "\(store) is intact: Realm format \(report.format), \(report.classCount) "
                + "class\(report.classCount == 1 ? "" : "es"), \(report.objectCount) "
                + "object\(report.objectCount == 1 ? "" : "s")\n")
    }

    /// Throws `file_corrupt` if there are any faults.
    private func report(_ faults: [StoreFault]) throws {
        guard !faults.isEmpty else { return }
        for fault in faults { ProcessServices.writeOutput("\(fault)\n") }
        throw StoreError(
            .fileCorrupt, "'\(store)' is damaged; restore a backup, or export the readable data")
    }
}
