import type { Samples } from './samples.ts';

export interface LateImage {
  /** Reports a job whose attempt failed. */
  jobFailed(id: unknown): void;
  /** Sets the sample jobs; undefined if no samples were inserted. */
  expect(samples: Samples | undefined): void;
}

/** Creates the image of the late sample once, when its job has failed; failures of other jobs have no effect. */
export function openLateImage(): LateImage {
  /** Jobs that failed before the id of the sample was known. */
  let early: Set<unknown> | undefined = new Set();
  let awaited: Samples | undefined;
  const create = (): void => {
    void awaited?.createLateImage();
    awaited = undefined;
  };
  return {
    jobFailed(id) {
      early?.add(id);
      if (awaited !== undefined && id === awaited.late) create();
    },
    expect(samples) {
      awaited = samples;
      if (samples !== undefined && early?.has(samples.late)) create();
      early = undefined;
    },
  };
}
