import EventLoops
import ObjectStore
import StoreBindings

/// A change of files in a folder of migrations, which can be shown before it is applied.
///
/// The change is complete or not begun, also after the process was killed: the new files are written under temporary
/// names, then a journal in the folder lists what to rename and to remove. Every step of the journal can be repeated, and
/// no command reads a folder with a journal before the change is finished.
package struct MigrationFolderEdit {
    /// The planned changes, as sentences.
    package let steps: [String]
    /// The differences between the old and the new texts, as lines.
    package let difference: [String]
    /// Whether there are no changes.
    package var isEmpty: Bool { steps.isEmpty }
    private let folder: String
    /// The new files, by their names in the folder.
    private let writes: [(name: String, text: String)]
    /// The names of the files to remove.
    private let removals: [String]
    private let finish: () throws -> Void

    /// Plans to write and to remove files; `finish` is called after these changes.
    init(
        steps: [String], difference: [String] = [], folder: String,
        writing writes: [(name: String, text: String)] = [], removing removals: [String] = [],
        finish: @escaping () throws -> Void = {}
    ) {
        self.steps = steps
        self.difference = difference
        self.folder = folder
        self.writes = writes
        self.removals = removals
        self.finish = finish
    }

    /// Applies the change.
    package func apply() throws {
        for (name, text) in writes {
            try Self.write(text, to: MigrationListing.path(name + Self.suffix, in: folder))
        }
        if !writes.isEmpty || !removals.isEmpty {
            let lines = writes.map { "write \($0.name)" } + removals.map { "remove \($0)" }
            let path = MigrationListing.path(Self.journal, in: folder)
            try Self.write(lines.joined(separator: "\n"), to: path + Self.suffix)
            try Self.move(path + Self.suffix, to: path)
            try Self.perform(folder)
        }
        try finish()
    }

    /// Finishes an interrupted change of a folder; returns its steps, or nil if there is none.
    package static func resume(_ folder: String) throws -> [String]? {
        guard ProcessServices.exists(MigrationListing.path(journal, in: folder)) else { return nil }
        return try perform(folder)
    }

    /// Throws `invalid_argument` if a change of the folder was interrupted.
    static func requireFinished(_ folder: String) throws {
        guard ProcessServices.exists(MigrationListing.path(journal, in: folder)) else { return }
        throw StoreError(
            .invalidArgument,
            "a change of the folder '\(folder)' was interrupted",
            advice: "finish it with moonpool migrate merge --dir \(folder)")
    }

    /// Performs the steps of the journal that are left, and returns all of them.
    @discardableResult  // because the steps of a new change are already known
    private static func perform(_ folder: String) throws -> [String] {
        let journal = MigrationListing.path(journal, in: folder)
        let text = String(decoding: try MigrationFile.source(of: journal), as: UTF8.self)
        let steps = text.split(separator: "\n").map(String.init)
        func names(_ verb: String) -> [String] {
            steps.filter { $0.hasPrefix(verb + " ") }.map { String($0.dropFirst(verb.count + 1)) }
        }
        for name in names("write") {
            let path = MigrationListing.path(name, in: folder)
            if ProcessServices.exists(path + suffix) { try move(path + suffix, to: path) }
        }
        // A new file can have the name of an old one.
        for name in Set(names("remove")).subtracting(names("write")).sorted() {
            ProcessServices.remove(MigrationListing.path(name, in: folder))
        }
        ProcessServices.remove(journal)
        return steps
    }

    /// Writes a new file, which has its name only after it is complete.
    package static func create(_ path: String, _ text: String) throws {
        try write(text, to: path + suffix)
        try move(path + suffix, to: path)
    }

    private static let journal = ".migrate-edit"
    private static let suffix = ".new"

    /// The report of the change for programs.
    package var value: ReportValue {
        .members(["steps": .texts(steps), "difference": .texts(difference)])
    }

    private static func write(_ text: String, to path: String) throws {
        if let reason = ProcessServices.write(text, to: path) {
            throw StoreError(.invalidArgument, "'\(path)' cannot be written: \(reason)")
        }
    }

    private static func move(_ path: String, to newPath: String) throws {
        if let reason = ProcessServices.rename(path, to: newPath) {
            throw StoreError(.invalidArgument, "'\(newPath)' cannot be written: \(reason)")
        }
    }
}
