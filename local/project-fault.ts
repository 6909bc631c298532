import { statSync } from 'node:fs';
import { dataPath } from './data-folder.ts';
import { HANDLERS_EXPECTED } from './handlers-folder.ts';
import { assertTrustedCode, UntrustedError } from './trust.ts';

/**
 * With Yarn's Plug'n'Play, packages are in .zip files, which only programs with its loader can read: neither Postgres
 * nor the processes of functions have it.
 */
const PLUG_AND_PLAY =
  "Millrace does not run with Yarn Plug'n'Play: add the line `nodeLinker: node-modules` to .yarnrc.yml, and run yarn install";

/** Returns why a stack cannot start in a folder, for the person who starts it. */
export function projectFault(project: string, handlers: string | undefined): string | undefined {
  if (process.versions.pnp !== undefined) return PLUG_AND_PLAY;
  if (handlers === undefined) {
    return `no folder ${HANDLERS_EXPECTED} in ${project}: start Millrace in a project folder, or run npx millrace init`;
  }
  const given = find(handlers);
  if (given?.isFile() === true) return `${handlers} is a file: name the folder that contains it`;
  if (given?.isDirectory() !== true) return `no folder ${handlers}`;
  const data = dataPath(project);
  if (find(data)?.isFile() === true) {
    return `${data} is a file: move it away, because Millrace keeps its data in a folder with this name`;
  }
  try {
    assertTrustedCode(project, handlers);
    return undefined;
  } catch (error) {
    if (error instanceof UntrustedError) return error.message;
    throw error;
  }
}

function find(path: string) {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
