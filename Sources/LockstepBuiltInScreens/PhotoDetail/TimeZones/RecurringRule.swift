import LockstepTime

/// The yearly rule of a time zone: the text at the end of a TZif file, in the form of POSIX's `TZ`
/// variable with hours from -167 to 167 (RFC 9636).
struct RecurringRule: Sendable, Equatable {
  enum Day: Sendable, Equatable {
    /// `J1` to `J365`: a day of the year. 29 February is not counted.
    case julian(Int)
    /// `0` to `365`: a day of the year. 29 February is counted.
    case ordinal(Int)
    /// `M3.5.0`: month 3, week 5 (the last of the month), weekday 0 (Sunday).
    case weekday(month: Int, week: Int, day: Int)

    /// The number of days from 1 January 1970 to this day of a year.
    func daysSince1970(in year: Int) -> Int {
      let start = CivilDate.daysSince1970(year: year, month: 1)
      switch self {
      case .julian(let day):
        let isAfterLeapDay = day >= 60 && CivilDate.length(ofMonth: 2, year: year) == 29
        return start + day - (isAfterLeapDay ? 0 : 1)
      case .ordinal(let day):
        return start + day
      case .weekday(let month, let week, let weekday):
        let first = CivilDate.daysSince1970(year: year, month: month)
        let ahead = (weekday - CivilDate.weekday(daysSince1970: first) + 7) % 7
        let day = ahead + (week - 1) * 7
        return first + (day < CivilDate.length(ofMonth: month, year: year) ? day : day - 7)
      }
    }
  }

  struct Change: Sendable, Equatable {
    let day: Day
    /// Seconds after midnight, in local time before the change.
    let time: Int
  }

  struct Daylight: Sendable, Equatable {
    let offset: Int
    let start: Change
    let end: Change
  }

  /// Seconds ahead of UTC.
  let standard: Int
  let daylight: Daylight?

  /// Seconds ahead of UTC at a time in seconds since 1970.
  func offset(at time: Int64) -> Int {
    guard let daylight else { return standard }
    // Limited to four million years around 1970, so that nothing below overflows.
    let time = Int(min(max(time, -(1 << 47)), 1 << 47))
    let year = CivilDate(daysSince1970: (time + standard) / 86_400).year
    // A change may be up to a week outside its year. If an end and a start coincide, the start
    // wins, because a rule expresses all-year daylight saving time that way.
    var latest = (moment: Int.min, isStart: false)
    for year in (year - 2)...(year + 2) {
      let end = (moment: moment(of: daylight.end, in: year, offset: daylight.offset), isStart: false)
      let start = (moment: moment(of: daylight.start, in: year, offset: standard), isStart: true)
      if end.moment <= time, end.moment > latest.moment { latest = end }
      if start.moment <= time, start.moment >= latest.moment { latest = start }
    }
    return latest.isStart ? daylight.offset : standard
  }

  private func moment(of change: Change, in year: Int, offset: Int) -> Int {
    change.day.daysSince1970(in: year) * 86_400 + change.time - offset
  }
}
