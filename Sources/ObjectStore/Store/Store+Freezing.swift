import ColumnStorage
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension Store {
    /// Returns a view of the current version, which is readable while the view exists.
    ///
    /// Calls at the same version return the same view while it exists. A view is cheap to create, and keeps the
    /// version's pages in the file. Inside a write transaction, it shows the version before the write. ``pins()`` names
    /// the holder.
    ///
    /// Throws `file_replaced`, `closed`, `wrong_thread`.
    package func frozenView(for holder: VersionHolder = VersionHolder()) throws -> StoreView {
        try check()
        try view.requireUnchanged()
        if let known = latestFrozen, known.version == view.version, !known.isClosed { return known }
        let snapshot = try StoreError.wrapping(view.snapshot.frozen())
        assert(snapshot.version == view.version, "a frozen view has the version of the store")
        let pin = coordinator.pins.add(.frozen, holder, version: snapshot.version)
        let frozen = StoreView(
            schema: committedSchema, snapshot: snapshot, isFrozen: true, pin: pin)
        frozen.threads = view.threads
        latestFrozen = frozen
        return frozen
    }

    /// Returns the object frozen at the current version or, inside a write transaction, at the version before it.
    ///
    /// A frozen object is returned unchanged. Throws `invalid_object` for a deleted object, `already_in_write` for one
    /// that the open write has created, `closed`, `wrong_thread`.
    package func freeze(
        _ object: LiveObject, for holder: VersionHolder = VersionHolder()
    ) throws -> LiveObject {
        guard case .store = object.source else { return object }
        guard object.isValid else {
            try check()
            throw StoreError.deleted(object.classSchema.name)
        }
        let frozen = try frozenView(for: holder)
        guard try frozen.isPresent(object.reference) else {
            throw StoreError(
                .alreadyInWrite,
                "this '\(object.classSchema.name)' was created in the open write transaction; "
                    + "freeze it after the commit")
        }
        return LiveObject(.frozen(frozen), object.classSchema, object.key)
    }

    /// Returns the live form of an object of this store's file; nil if the object does not exist in the store's
    /// version.
    ///
    /// The store's version may be older or newer than that of the object. Throws `closed`, `wrong_thread`.
    package func thaw(_ object: LiveObject) throws -> LiveObject? {
        try check()
        guard try view.isPresent(object.reference) else { return nil }
        return LiveObject(.store(self), object.classSchema, object.key)
    }

    /// Returns a value frozen at the current version or, inside a write transaction, at the version before it.
    ///
    /// Throws the errors of ``freeze(_:for:)-(LiveObject,_)`` for the object to which the value belongs.
    package func freeze(
        _ value: ReferencedValue, for holder: VersionHolder = VersionHolder()
    ) throws -> ReferencedValue {
        if let owner = value.owner { return value.moved(to: try freeze(owner, for: holder).source) }
        return value.moved(to: .frozen(try frozenView(for: holder)))
    }

    /// Returns the live form of a value; nil if it does not exist in the store's version.
    ///
    /// Throws `closed`, `wrong_thread`.
    package func thaw(_ value: ReferencedValue) throws -> ReferencedValue? {
        try check()
        if let owner = value.owner, try thaw(owner) == nil { return nil }
        let live = value.moved(to: .store(self))
        return live.nested?.isValid == false ? nil : live
    }
}

// The interface for a host that runs a store on an actor.
extension Store {
    /// Returns a separate view of the current version, which any thread may read, one at a time.
    ///
    /// Inside a write transaction it shows the version before the write. ``pins()`` names the kind and the holder. Throws
    /// `closed`, `wrong_thread`.
    package func separateView(
        as kind: VersionPin.Kind = .frozen, for holder: VersionHolder = VersionHolder()
    ) throws -> StoreView {
        try check()
        let frozen = try StoreError.wrapping(view.snapshot.frozen())
        return try separateView(of: frozen, committedSchema, as: kind, for: holder)
    }

    /// Returns a separate view of a frozen version, which any thread may read, one at a time.
    package func separateView(of frozen: StoreView) throws -> StoreView {
        try check()
        return try separateView(
            of: frozen.snapshot, frozen.schema, as: .frozen, for: VersionHolder())
    }

    private func separateView(
        of frozen: Snapshot, _ schema: Schema, as kind: VersionPin.Kind, for holder: VersionHolder
    ) throws -> StoreView {
        let snapshot = try StoreError.wrapping(frozen.shared().snapshot(of: frozen.file))
        guard let snapshot else {
            throw StoreError(.closed, "the store was closed; open it again to use it")
        }
        let pin = coordinator.pins.add(kind, holder, version: snapshot.version)
        return StoreView(schema: schema, snapshot: snapshot, isFrozen: true, pin: pin)
    }

    /// Returns a view of the same frozen version for the store's own thread: the store's latest frozen view, if it has
    /// that version.
    package func sharedView(of frozen: StoreView) throws -> StoreView {
        if let known = latestFrozen, known.version == frozen.version, !known.isClosed {
            return known
        }
        let created = try separateView(of: frozen)
        latestFrozen = created
        return created
    }

    /// A function that returns the newest version in the file, on any thread; nil in memory, where no other process
    /// commits.
    package var newestVersion: (@Sendable () -> UInt64)? {
        guard path != nil, !isClosed else { return nil }
        return { [file = view.snapshot.file] in file.latestVersion() }
    }

    /// Keeps the file open while the result exists.
    ///
    /// Throws `closed`.
    package func fileHold() throws -> FileHold {
        try check()
        return try StoreError.wrapping(view.snapshot.file.hold())
    }

    /// Returns whether a write can begin without waiting for another writer.
    ///
    /// If not, the store joins the queue for the write lock, and calls `notify` on any thread when the result may have
    /// changed.
    package func isWriteReady(notify: @escaping @Sendable () -> Void) -> Bool {
        canBeginWrite(notify)
    }

    /// Leaves the queue for the write lock.
    package func withdrawFromWriteQueue() {
        guard queue.isEmpty else { return }
        queue.removeTicket()?.withdraw()
    }
}

extension Store {
    /// Returns the holders of old versions of the file in all processes, the oldest version first.
    ///
    /// A store at the newest version does not hold an old one. Reads the file's list of free pages.
    ///
    /// Throws `closed`, `wrong_thread`, and the errors of reading the file.
    package func pins() throws -> [VersionPin] {
        try check()
        let file = view.snapshot.file
        let newest = file.latestVersion()
        let held = try StoreError.wrapping(file.heldVersions())
        var found: [(VersionPin.Kind, VersionHolder, Timestamp?, Int32, UInt64)] = []
        var known: Set<UInt64> = [newest]
        for pin in coordinator.pins.pins {
            let version = pin.version
            known.insert(version)
            if pin.kind == .store, version >= newest { continue }
            found.append((pin.kind, pin.holder, pin.since, getpid(), version))
        }
        for version in held.own where !known.contains(version) {
            found.append((.observers, VersionHolder(), nil, getpid(), version))
        }
        var seen: Set<[UInt64]> = []
        for reader in held.foreign where reader.version < newest {
            guard seen.insert([UInt64(reader.process), reader.version]).inserted else { continue }
            found.append((.process, VersionHolder(), nil, reader.process, reader.version))
        }
        let bytes = try StoreError.wrapping(file.bytesKept(by: found.map(\.4)))
        return zip(found, bytes).map { pin, bytes in
            VersionPin(
                version: pin.4, kind: pin.0, holder: pin.1, since: pin.2, process: pin.3,
                bytes: bytes)
        }.sorted {
            ($0.version, $0.kind.rawValue, $0.holder.location, $0.process)
                < ($1.version, $1.kind.rawValue, $1.holder.location, $1.process)
        }
    }

    /// Throws `too_many_versions` if more versions are pinned than the store allows.
    ///
    /// Freed pages can be reused only after all older versions are released, so all versions since the oldest pinned
    /// one count.
    func checkLiveVersions() throws {
        guard let limit = configuration.maximumLiveVersions else { return }
        let file = view.snapshot.file
        let held = try StoreError.wrapping(file.heldVersions())
        let newest = view.version
        let oldest = min(held.own.min() ?? newest, held.foreign.map(\.version).min() ?? newest)
        let count = newest - min(oldest, newest) + 1
        guard count > UInt64(max(limit, 0)) else { return }
        let holders = try pins().filter { $0.version == oldest }.map(\.summary)
        let holder = holders.isEmpty ? "another process" : holders.joined(separator: ", ")
        throw StoreError(
            .tooManyVersions,
            "\(count) versions are in use, and \(limit) are allowed: the oldest version, \(oldest), "
                + "is held by \(holder)", program: "release it, or raise maximumLiveVersions",
            script: "release it, or raise max_live_versions")
    }
}

/// The code that opened a store or froze a version, for reports.
package struct VersionHolder: Hashable, Sendable {
    /// The name of the script; empty if no script is involved.
    package var script: String
    /// The file and line, as in `zoo.lua:12`; empty if unknown.
    package var location: String

    /// Creates a holder.
    package init(script: String = "", location: String = "") {
        self.script = script
        self.location = location
    }
}

/// A holder that keeps an old version of a file readable, and thereby keeps pages that newer versions could reuse.
package struct VersionPin: Hashable, Sendable {
    /// The kind of holder.
    package enum Kind: String, Hashable, Sendable {
        /// A store of this process that has not moved to a newer version.
        case store
        /// A frozen version that this process still references.
        case frozen
        /// The data before a change of the schema by `store:define`, for a migration that repeats the change.
        case definition
        /// A reference to results that was not resolved yet.
        case reference
        /// Observers of this process that have not received newer versions yet, or results passed to them.
        case observers
        /// Another process.
        case process
    }

    /// The pinned version.
    package let version: UInt64
    /// The kind of holder.
    package let kind: Kind
    /// The holder of the version.
    package let holder: VersionHolder
    /// The time at which the holder pinned the version, if this process knows it.
    package let since: Timestamp?
    /// The id of the process.
    package let process: Int32
    /// The number of bytes of the file that cannot be reused while the version is pinned.
    ///
    /// Several holders of old versions may keep the same bytes.
    package let bytes: Int
}

extension VersionPin {
    /// A description of the holder, such as `a frozen version of zoo.lua:12`.
    package var summary: String {
        let location = holder.location.isEmpty ? holder.script : holder.location
        let end = location.isEmpty ? "" : " of \(location)"
        let place = location.isEmpty ? "" : " at \(location)"
        return switch kind {
        case .store: "the store\(end)"
        case .frozen: "a frozen version\(end)"
        case .definition: "the data before store:define\(place), for .migration"
        case .reference: "a reference\(end)"
        case .observers: "observers with pending calls"
        case .process: "process \(process)"
        }
    }
}

/// The versions of one file that this process has pinned, with their holders.
final class VersionRegistry: Sendable {
    /// The pin of one holder, which is registered while it exists.
    final class Pin: Sendable {
        let kind: VersionPin.Kind
        let holder: VersionHolder
        private let registry: VersionRegistry
        private let number: UInt64
        private let held: Atomic<UInt64>
        private let moved: Atomic<Int64>

        fileprivate init(
            _ registry: VersionRegistry, number: UInt64, kind: VersionPin.Kind,
            _ holder: VersionHolder,
            version: UInt64
        ) {
            self.registry = registry
            self.number = number
            self.kind = kind
            self.holder = holder
            held = Atomic(version)
            moved = Atomic(Timestamp.now.microseconds)
        }

        deinit { registry.remove(number) }

        var version: UInt64 { held.load(ordering: .relaxed) }
        var since: Timestamp { Timestamp(microseconds: moved.load(ordering: .relaxed)) }

        /// Moves the pin after its holder has moved to another version.
        func move(to version: UInt64) {
            held.store(version, ordering: .relaxed)
            moved.store(Timestamp.now.microseconds, ordering: .relaxed)
        }
    }

    private struct Entries {
        var next: UInt64 = 0
        var pins: [UInt64: WeakPin] = [:]
    }

    private struct WeakPin: Sendable {
        weak let pin: Pin?
    }

    private let entries = Mutex(Entries())

    /// Registers a pin for a holder.
    func add(_ kind: VersionPin.Kind, _ holder: VersionHolder, version: UInt64) -> Pin {
        entries.withLock { entries in
            entries.next += 1
            let pin = Pin(self, number: entries.next, kind: kind, holder, version: version)
            entries.pins[entries.next] = WeakPin(pin: pin)
            return pin
        }
    }

    /// All pins of the registry.
    var pins: [Pin] {
        // The pins are released outside of the lock, because releasing the last reference of a pin acquires it again.
        entries.withLock { $0.pins.values.map { $0.pin } }.compactMap { $0 }
    }

    private func remove(_ number: UInt64) {
        entries.withLock { _ = $0.pins.removeValue(forKey: number) }
    }
}
