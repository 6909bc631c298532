import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSyntax, type Syntax } from './syntax.ts';

/** A file of the repository, by its path from the root with forward slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
  /** Only for TypeScript and JavaScript. */
  readonly syntax: Syntax | undefined;
}

/** One violation of a rule. */
export interface Violation {
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  readonly message: string;
}

/** Checks one file at a time. Exceptions refer to a rule by its name. */
export interface Rule {
  readonly name: string;
  check(file: SourceFile): Violation[];
}

const IGNORED = new Set(['node_modules', '.git', '.millrace', '.examples', 'dist', 'cdk.out', 'coverage']);
const TEXT = /\.(ts|mjs|js|json|sql|md)$/;

export function sourceFile(path: string, text: string): SourceFile {
  return { path, text, syntax: /\.(ts|mjs|js)$/.test(path) ? parseSyntax(path, text) : undefined };
}

/** Returns every text file below a folder, except generated and installed ones. */
export function readTree(root: string, folder = ''): SourceFile[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (IGNORED.has(entry.name)) return [];
    if (entry.isDirectory()) return readTree(root, path);
    return entry.isFile() && TEXT.test(entry.name) ? [sourceFile(path, readFileSync(join(root, path), 'utf8'))] : [];
  });
}

/** Returns whether a file is in one of the top-level folders. */
export function isIn(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path.startsWith(`${folder}/`));
}

/** Returns the line of an offset, counted from 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}
