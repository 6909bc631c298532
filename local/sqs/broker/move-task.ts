/** A message move task ("DLQ redrive"). Times are in epoch milliseconds. */
export interface MessageMoveTask {
  readonly id: string;
  readonly handle: string;
  readonly sourceArn: string;
  readonly destinationArn?: string;
  /** Messages per second, 1 to 500; absent: the emulator's own limit. */
  readonly rate?: number;
  readonly startedAt: number;
  readonly toMove: number;
  moved: number;
  status: 'RUNNING' | 'COMPLETED' | 'CANCELLING' | 'CANCELLED' | 'FAILED';
  failureReason?: string;
  /** Time and number of moved messages from which the rate is counted. */
  readonly pace: { readonly since: number; readonly moved: number };
}

export function writeTaskHandle(id: string, sourceArn: string): string {
  return Buffer.from(JSON.stringify({ taskId: id, sourceArn })).toString('base64');
}

/** Returns the task id in a handle; undefined if it is not a task handle. */
export function readTaskHandle(handle: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(handle, 'base64').toString());
    const id = (parsed as { taskId?: unknown } | null)?.taskId;
    return typeof id === 'string' ? id : undefined;
  } catch {
    return undefined;
  }
}

/** Returns how many messages, at most `most`, may move now at the task's rate; the first may move at once. */
export function allowance(task: MessageMoveTask, now: number, most: number): number {
  if (task.rate === undefined) return most;
  const soFar = task.pace.moved + Math.floor(((now - task.pace.since) * task.rate) / 1000) + 1;
  return Math.max(0, Math.min(soFar - task.moved, most));
}
