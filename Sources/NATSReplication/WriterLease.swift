import DataFormats
import ObjectStore
import Replication
import Synchronization
import SystemCalls

/// The lease of a cluster's writer: a value in a JetStream key-value bucket that its holder renews.
///
/// Each change is a compare-and-set on the revision of the value. The holder renews it every third of its duration. A
/// member takes it when it has seen the same revision for the whole duration, on its own clock, so the clocks of the
/// machines need not agree. The holder stops writing when a third of the duration is left since the begin of its last
/// successful renewal. Between two holders, the stream refuses the messages of the first one; the lease only
/// determines who tries.
///
/// Before a member takes the lease, it writes its position into the bucket and reads the positions of the others; the
/// one that is furthest is first. Works on its own thread.
final class WriterLease: Sendable {
    /// How much of the stream a candidate has.
    struct Position: Comparable {
        /// The sequence number of its last message.
        var sequence: UInt64
        /// A number that is larger for a store that has more commits after this message.
        var version: UInt64 = 0

        static func < (a: Self, b: Self) -> Bool {
            (a.sequence, a.version) < (b.sequence, b.version)
        }
    }

    private struct State {
        var isHeld = false
        var isAbandoned = false
        var position: Position?
        /// The last revision, and the time after which the holder may not write.
        var revision: UInt64 = 0
        var limit: UInt64 = 0
    }

    private let servers: NatsOptions
    private let bucket: String
    private let name: String
    private let replicas: Int
    private let span: Duration
    private let store: String
    private let file: String
    /// The status of the member; a change of the holder interrupts its current task.
    private let status: ReplicationStatus
    private let control = ReplicationStatus()
    private let identifier = UUIDValue.random().description
    private let state = Mutex(State())

    init(
        _ servers: NatsOptions, stream: String, name: String, replicas: Int, span: Duration,
        store: String, status: ReplicationStatus
    ) {
        self.servers = servers
        bucket = "moonpool-" + stream
        self.name = name
        self.replicas = replicas
        self.span = span
        self.store = store
        file = Store.leaseFile(store)
        self.status = status
        status.update { $0.lease = ReplicationStatus.Lease() }
    }

    private static let key = "writer"
    /// The time limit of a request: two of them fit between the due time of a renewal and the end of the writes.
    var requestLimit: Duration { ConnectionLimits(lease: span).request }

    /// Whether this member holds the lease, which may have ended while no server can be reached.
    var isHeld: Bool { state.withLock { $0.isHeld && !$0.isAbandoned } }

    /// Sets the position with which the member is a candidate; nil if it cannot become the writer.
    func setPosition(_ position: Position?) { state.withLock { $0.position = position } }

    /// Releases the lease, so that another member can take it at once.
    func abandon() { state.withLock { $0.isAbandoned = true } }

    /// Starts the thread.
    func start() throws {
        let code = DetachedThread.start { [self] in
            ThreadIdentity.nameCurrent("moonpool-lease")
            run()
            control.update { $0.hasEnded = true }
        }
        guard code == 0 else {
            throw ReplicationError.fatal("the system cannot start a thread: error \(code)")
        }
    }

    /// Releases the lease if this member holds it, and ends the thread.
    func stop() {
        control.stop()
        control.wait(atMost: .seconds(15), until: \.hasEnded)
        DeadlineFile.remove(file)
    }

    // MARK: The thread

    private func run() {
        var leases: KeyValueBucket?
        var seen = Sighting()
        repeat {
            checkLimit()
            do {
                let known =
                    try leases
                    ?? KeyValueBucket(
                        NatsConnection(servers, within: requestLimit), bucket, replicas: replicas,
                        limit: requestLimit)
                leases = known
                if state.withLock({ $0.isHeld }) {
                    try renew(known)
                } else {
                    try watch(known, &seen)
                }
            } catch {
                leases = nil
                control.record("\(error)")
            }
            control.rest(atMost: span / 12)
        } while !control.isStopping
        abandon()
        // because: without a connection, the lease ends by itself.
        if let leases, state.withLock({ $0.isHeld }) { try? renew(leases) }
    }

    /// Reports the end of the time in which the writer may write.
    private func checkLimit() {
        let isValid = state.withLock {
            $0.isHeld && !$0.isAbandoned && MonotonicClock.nanosecondsWithSleep < $0.limit
        }
        guard !isValid, status.snapshot.lease?.isValid == true else { return }
        status.update { $0.lease?.isValid = false }
    }

    private func renew(_ leases: KeyValueBucket) throws {
        let (revision, limit, isAbandoned) = state.withLock {
            ($0.revision, $0.limit, $0.isAbandoned)
        }
        let begin = MonotonicClock.nanosecondsWithSleep
        guard isAbandoned || begin + nanoseconds(span / 3) >= limit else { return }
        if let new = try leases.put(Self.key, value(isReleased: isAbandoned), expecting: revision) {
            guard !isAbandoned else { return lose() }
            return extend(new, begin)
        }
        // The answer to the last renewal may be lost.
        guard let entry = try leases.get(Self.key), entry.value.text("process") == identifier else {
            return lose()
        }
        state.withLock { $0.revision = entry.revision }
    }

    /// Records a renewal that was sent at a time.
    private func extend(_ revision: UInt64, _ begin: UInt64) {
        let limit = begin + nanoseconds(span * 2 / 3)
        state.withLock {
            $0.revision = revision
            $0.limit = limit
        }
        DeadlineFile.write(file, of: store, until: limit, span: nanoseconds(span))
        if status.snapshot.lease?.isValid == false {
            status.update { $0.lease?.isValid = MonotonicClock.nanosecondsWithSleep < limit }
        }
    }

    private func lose() {
        state.withLock {
            $0.isHeld = false
            $0.isAbandoned = false
            $0.position = nil
        }
        DeadlineFile.remove(file)
        status.update { $0.lease?.isValid = false }
        status.interrupt()
    }

    /// A revision of the lease, and when this member first saw it.
    private struct Sighting {
        var revision: UInt64?
        var time: UInt64 = 0
    }

    /// Reads the lease, and takes it if its holder has not renewed it in time.
    private func watch(_ leases: KeyValueBucket, _ seen: inout Sighting) throws {
        let entry = try leases.get(Self.key)
        let now = MonotonicClock.nanosecondsWithSleep
        if seen.revision != entry?.revision {
            seen = Sighting(revision: entry?.revision, time: now)
        }
        let value = entry?.value
        let known = ReplicationStatus.Lease(
            number: value?.number("lease") ?? 0, holder: value?.text("holder") ?? "")
        if status.snapshot.lease != known { status.update { $0.lease = known } }
        let isFree =
            value.map { value in
                value.flag("released") || value.text("process") == identifier
                    || now - seen.time >= value.number("duration_ms") * 1_000_000
            } ?? true
        guard isFree, let position = state.withLock({ $0.position }) else { return }
        let revision = entry?.revision ?? 0
        guard try isFurthest(position, at: revision, leases) else { return }
        let begin = MonotonicClock.nanosecondsWithSleep
        // The value of an earlier lease can have ended with its time, or with the bucket.
        let number = try max(known.number, leases.lastRevision(), status.snapshot.streamLease) + 1
        guard
            let taken = try leases.put(
                Self.key, self.value(isReleased: false, number), expecting: revision)
        else { return }
        state.withLock { $0.isHeld = true }
        status.update { $0.lease = ReplicationStatus.Lease(number: number, holder: name) }
        extend(taken, begin)
        status.interrupt()
    }

    /// Compares the positions of the candidates after the holder of a revision; if another one is further, waits until
    /// it can have taken the lease.
    private func isFurthest(
        _ position: Position, at revision: UInt64, _ leases: KeyValueBucket
    ) throws -> Bool {
        var json = JSONWriter()
        json.beginObject()
        for (name, number) in [
            ("sequence", position.sequence), ("version", position.version), ("after", revision),
        ] {
            json.member(name, number)
        }
        json.endObject()
        _ = try leases.put("member." + name, json.bytes, expecting: nil)
        control.rest(atMost: span / 15)
        for key in try leases.keys("member.") where key != "member." + name {
            guard let value = try leases.get(key)?.value, value.number("after") == revision else {
                continue
            }
            let other = Position(
                sequence: value.number("sequence"), version: value.number("version"))
            guard (other, "member." + name) > (position, key) else { continue }
            control.rest(atMost: span / 3)
            break
        }
        return !control.isStopping && state.withLock { $0.position != nil }
    }

    private func value(isReleased: Bool, _ number: UInt64? = nil) -> [UInt8] {
        let known = status.snapshot
        var json = JSONWriter()
        json.beginObject()
        json.member("holder", name)
        json.member("process", identifier)
        json.member("lease", number ?? known.lease?.number ?? 0)
        json.member("duration_ms", UInt64(span.milliseconds))
        json.member("sequence", known.sequence)
        json.member("version", known.version)
        if isReleased { json.member("released", true) }
        json.endObject()
        return json.bytes
    }

    private func nanoseconds(_ time: Duration) -> UInt64 { UInt64(time.milliseconds) * 1_000_000 }
}
