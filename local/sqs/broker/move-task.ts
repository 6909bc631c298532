/** A message move task ("DLQ redrive"). Times are milliseconds since the epoch. */
export interface MessageMoveTask {
  readonly id: string;
  readonly handle: string;
  readonly sourceArn: string;
  readonly destinationArn?: string;
  /** Messages a second, 1 to 500; absent: as fast as the emulator likes. */
  readonly rate?: number;
  readonly startedAt: number;
  readonly toMove: number;
  moved: number;
  status: 'RUNNING' | 'COMPLETED' | 'CANCELLING' | 'CANCELLED' | 'FAILED';
  failureReason?: string;
  /** Since when, and from how many moved messages on, the rate counts. */
  readonly pace: { readonly since: number; readonly moved: number };
}

export function writeTaskHandle(id: string, sourceArn: string): string {
  return Buffer.from(JSON.stringify({ taskId: id, sourceArn })).toString('base64');
}

/** The task id in a handle, or undefined when it is no task handle. */
export function readTaskHandle(handle: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(handle, 'base64').toString());
    const id = (parsed as { taskId?: unknown } | null)?.taskId;
    return typeof id === 'string' ? id : undefined;
  } catch {
    return undefined;
  }
}

/** How many messages may move now so that the rate is kept, the first at once; `most` bounds a catch-up. */
export function allowance(task: MessageMoveTask, now: number, most: number): number {
  if (task.rate === undefined) return most;
  const soFar = task.pace.moved + Math.floor(((now - task.pace.since) * task.rate) / 1000) + 1;
  return Math.max(0, Math.min(soFar - task.moved, most));
}
