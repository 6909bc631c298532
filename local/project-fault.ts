import { statSync } from 'node:fs';
import { join } from 'node:path';
import { dataPath } from './data-folder.ts';
import { assertTrustedCode, UntrustedError } from './trust.ts';

/** Returns why a stack cannot start in a folder, for the person who starts it. */
export function projectFault(project: string): string | undefined {
  if (find(join(project, 'functions', 'handlers'))?.isDirectory() !== true) {
    return `no folder functions/handlers in ${project}: start Millrace in a project folder`;
  }
  const data = dataPath(project);
  if (find(data)?.isFile() === true) {
    return `${data} is a file: move it away, because Millrace keeps its data in a folder with this name`;
  }
  try {
    assertTrustedCode(project);
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
