import type { Backend } from '../backend/backend.ts';
import { withBackend } from '../backend/open.ts';
import { EXIT, type ExitCode, exitCodeOf } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { explainFailures } from '../redrive/named-jobs.ts';
import { toJson } from '../screen/json.ts';
import { print, printRows, sayError } from '../screen/terminal.ts';

/** Answers that say that nothing was done: the exit code, and the end of a sentence that begins with the job. */
export type Failures<Answer extends string> = Partial<Readonly<Record<Answer, readonly [ExitCode, string]>>>;

/** What a command does with each job that is named. */
interface Verb<Answer extends string> {
  readonly act: (backend: Backend, id: string) => Promise<Answer>;
  readonly failures: Failures<Answer>;
}

interface Answered<Answer> {
  readonly id: string;
  readonly answer: Answer;
}

/** Does it to each job once and prints the answers; says why where nothing was done. */
export async function actOnEach<Answer extends string>(
  options: GlobalOptions,
  ids: ReadonlySet<string>,
  { act, failures }: Verb<Answer>,
): Promise<{ answers: readonly Answered<Answer>[]; code: ExitCode }> {
  const { answers, reasons } = await withBackend(options, async (backend) => {
    const done: Answered<Answer>[] = [];
    for (const id of ids) done.push({ id, answer: await act(backend, id) });
    const failed = done.filter(({ answer }) => failures[answer] !== undefined).map(({ id }) => id);
    return { answers: done, reasons: await explainFailures(backend, failed) };
  });
  if (options.json) print(toJson(answers));
  else
    printRows(
      ['ID', 'ANSWER'],
      answers.map(({ id, answer }) => [id, answer]),
    );
  for (const { id, answer } of answers) {
    const why = failures[answer]?.[1];
    if (why !== undefined) sayError(`job ${id} ${reasons.get(id) ?? why}`);
  }
  return { answers, code: exitCodeOf(answers.map(({ answer }) => failures[answer]?.[0] ?? EXIT.done)) };
}
