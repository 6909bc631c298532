import type { Reporter, TestModule, TestSpecification } from 'vitest/node';

/** Milliseconds between two lines when the output is not a terminal. */
const EVERY_MS = 15_000;

/** Prints one line of progress: updates it on a terminal, and repeats it at intervals in a file or a pipe. */
export class Progress implements Reporter {
  private readonly started = performance.now();
  private files = 0;
  private ended = 0;
  private tests = 0;
  private failed = 0;
  private written = this.started;

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.files = specifications.length;
  }

  onTestModuleEnd(module: TestModule): void {
    const results = [...module.children.allTests()].map((test) => test.result().state);
    this.ended += 1;
    this.tests += results.length;
    this.failed += results.filter((state) => state === 'failed').length;
    this.write(module.state() === 'failed');
  }

  onTestRunEnd(): void {
    if (process.stdout.isTTY) process.stdout.write('\r\u001b[K');
  }

  /** Clears the line when the other reporter prints a failure. */
  private write(isFailure: boolean): void {
    const seconds = Math.round((performance.now() - this.started) / 1000);
    const line = `${this.ended} of ${this.files} files, ${this.tests} tests, ${this.failed} failed, ${seconds} s`;
    if (process.stdout.isTTY) process.stdout.write(`\r\u001b[K${isFailure ? '' : line}`);
    else if (performance.now() - this.written > EVERY_MS) {
      this.written = performance.now();
      process.stdout.write(`${line}\n`);
    }
  }
}
