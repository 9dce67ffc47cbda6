/** What makes a name of a user unique: names that differ only in case are one name. */
export function userKeyOf(name: string): string {
  return name.toLowerCase();
}
