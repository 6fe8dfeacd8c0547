import Glibc

/// Returns the time when a commit began.
///
/// Call it after the observer has been called.
///
/// An earlier answer from another thread or process would wake the measuring thread in the middle of the measurement,
/// and take one of two processors from the observer.
typealias Beginning = () throws -> UInt64

/// Commits while an observer waits: a contestant, or another process on its behalf.
///
/// Each method except the first is one transaction, which may still run when the method returns.
protocol Committer: AnyObject {
    /// Pauses before a commit. Does nothing if another thread commits, which pauses itself, because it would otherwise
    /// be woken at the moment of its commit.
    func rest()
    func setAge(_ age: Int64, of key: Int64) throws -> Beginning
    func setScore(_ score: Double, of key: Int64) throws -> Beginning
    /// Appends a person to the club's list.
    func appendToClub(_ key: Int64) throws -> Beginning
}

extension Committer {
    func rest() { restAsInQuietProgram() }
}

/// Lets threads and processors go idle before a measurement, as in a program that has little to do.
func restAsInQuietProgram() { usleep(1000) }
