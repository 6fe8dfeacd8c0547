import Synchronization

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
