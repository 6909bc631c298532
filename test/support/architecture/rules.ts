import { clientMaker } from './client-makers.ts';
import { elapsedTime } from './elapsed-time.ts';
import { consoleWriter, environmentReader, terminalWriter } from './environment.ts';
import { importDirection, importSuffix, keptApart, moduleOwner, noFetchInInfra } from './imports.ts';
import { loopbackServers } from './listeners.ts';
import { modeWords } from './mode-words.ts';
import { bannedNames, kebabCase } from './names.ts';
import { ownSessions } from './own-sessions.ts';
import { roomDirection } from './rooms.ts';
import { fileLines, lineColumns } from './sizes.ts';
import type { Rule } from './source-file.ts';
import { sqlApart, sqlConstant, sqlHome, sqlNamed } from './sql.ts';

/** The rules for every file of the repository, in addition to lint and the compiler. */
export const RULES: readonly Rule[] = [
  importDirection,
  moduleOwner,
  clientMaker,
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
  loopbackServers,
  terminalWriter,
  modeWords,
  elapsedTime,
  ownSessions,
];
