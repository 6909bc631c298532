import { readDocument, section } from './documents.ts';

/** A command of the page, and its expected output from the lines below it. */
export interface Step {
  readonly command: string;
  readonly says: readonly string[];
}

export interface Symptom {
  readonly heading: string;
  readonly steps: readonly Step[];
}

const ARROW = '# → ';

export const page = readDocument('docs/operations.md');

export const symptoms: readonly Symptom[] = [...page.text.matchAll(/^## (.*)$/gm)]
  .map(([, heading = '']) => ({ heading, steps: stepsOf(linesOf(section(page, heading).blocks)) }))
  .filter(({ steps }) => steps.length > 0);

/** The settings that every command requires. */
export const [settings = ''] = linesOf(page.blocks).filter((line) => line.startsWith('export '));

function linesOf(blocks: typeof page.blocks): string[] {
  return blocks
    .filter(({ language }) => language === 'sh')
    .flatMap(({ code }) => code.split('\n'))
    .filter((line) => line !== '');
}

function stepsOf(lines: readonly string[]): Step[] {
  const steps: { command: string; says: string[] }[] = [];
  for (const line of lines) {
    if (line.startsWith(ARROW)) steps.at(-1)?.says.push(line.slice(ARROW.length));
    else steps.push({ command: line, says: [] });
  }
  return steps;
}

/** Returns a pattern in which `…` matches any text, and a space matches any white space between columns. */
export function toPattern(words: string): RegExp {
  const pieces = words.split('…').map((piece) => {
    const plain = piece.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return plain.replace(/\s+/g, '\\s+');
  });
  return new RegExp(`(?<!\\w)${pieces.join('[\\s\\S]*?')}`);
}
