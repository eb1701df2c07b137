import Glibc

/// The descriptors 0 to 2, which everybody takes to be the standard streams, whatever is behind them.
enum StandardStreams {
  /// Takes those that the process was started without. Otherwise the next file or socket to be opened gets the number, and
  /// what is meant for the log goes to it.
  static func takePlaces() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
      // The lowest free number is this one. For reading only: who writes still learns that nobody reads it.
      _ = open("/dev/null", O_RDONLY)
    }
  }
}
