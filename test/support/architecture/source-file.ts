import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSyntax, type Syntax } from './syntax.ts';

/** A file of the repository, by its path from the root with forward slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
  /** Of TypeScript and JavaScript only. */
  readonly syntax: Syntax | undefined;
}

/** One thing that is not as it should be. */
export interface Violation {
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  readonly message: string;
}

/** Looks at files one by one; the name is what an exception refers to. */
export interface Rule {
  readonly name: string;
  check(file: SourceFile): Violation[];
}

const IGNORED = new Set(['node_modules', '.git', '.millrace', 'dist', 'cdk.out', 'coverage']);
const TEXT = /\.(ts|mjs|js|json|sql|md)$/;

export function sourceFile(path: string, text: string): SourceFile {
  return { path, text, syntax: /\.(ts|mjs|js)$/.test(path) ? parseSyntax(path, text) : undefined };
}

/** Every text file below a folder, what is generated or installed left out. */
export function readTree(root: string, folder = ''): SourceFile[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (IGNORED.has(entry.name)) return [];
    if (entry.isDirectory()) return readTree(root, path);
    return entry.isFile() && TEXT.test(entry.name) ? [sourceFile(path, readFileSync(join(root, path), 'utf8'))] : [];
  });
}

/** Whether a file lies in one of the top-level folders. */
export function isIn(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path.startsWith(`${folder}/`));
}

/** The line, counted from 1, of an offset. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}
