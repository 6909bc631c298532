import { elapsedTime } from './elapsed-time.ts';
import { consoleWriter, environmentReader } from './environment.ts';
import { importDirection, importSuffix, keptApart, moduleOwner, noFetchInInfra } from './imports.ts';
import { modeWords } from './mode-words.ts';
import { bannedNames, kebabCase } from './names.ts';
import { roomDirection } from './rooms.ts';
import { fileLines, lineColumns } from './sizes.ts';
import type { Rule } from './source-file.ts';
import { sqlApart, sqlConstant, sqlHome, sqlNamed } from './sql.ts';

/** Everything that is asked of a file of this repository, besides what lint and the compiler ask. */
export const RULES: readonly Rule[] = [
  importDirection,
  moduleOwner,
  keptApart,
  importSuffix,
  noFetchInInfra,
  bannedNames,
  kebabCase,
  fileLines,
  lineColumns,
  sqlHome,
  sqlConstant,
  sqlNamed,
  sqlApart,
  roomDirection,
  environmentReader,
  consoleWriter,
  modeWords,
  elapsedTime,
];
