/** Whether this is the name of a time zone, such as `Europe/Madrid`. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** A moment as people of a time zone name it. */
export interface LocalTime {
  day: 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun';
  /** Since midnight, 0 to 1439. */
  minute: number;
  /** Since midnight, 0 to 86,399. */
  second: number;
  /** `17:05`. */
  text: string;
}

/** @param timeZone a name that `isTimeZone` accepts */
export function localTimeOf(atMs: number, timeZone: string): LocalTime {
  const format = new Intl.DateTimeFormat('en-GB', {
    ...{ timeZone, weekday: 'short', hourCycle: 'h23' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
  });
  const parts = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
  const { weekday = '', hour = '', minute = '', second = '' } = parts;
  const minutes = Number(hour) * 60 + Number(minute);
  return {
    day: weekday.toLowerCase() as LocalTime['day'],
    minute: minutes,
    second: minutes * 60 + Number(second),
    text: `${hour}:${minute}`,
  };
}
