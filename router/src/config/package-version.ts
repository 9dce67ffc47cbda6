import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder with the project's package.json, from the sources and from the build. */
export function projectFolder(): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
  }
  throw new TypeError('no folder above the program contains package.json');
}

/** The version in the project's package.json. */
export function packageVersion(): string {
  return String(JSON.parse(readFileSync(join(projectFolder(), 'package.json'), 'utf8')).version);
}
