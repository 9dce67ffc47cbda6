/** A description of the API for people: `name` becomes “name”. */
export function meaningOf({ description }: { description?: string }): string | undefined {
  return description?.replace(/`([^`]*)`/g, '“$1”');
}
