import {
  changeMessageVisibility,
  changeMessageVisibilityBatch,
  deleteMessageAction,
  deleteMessageBatch,
} from './acknowledge.ts';
import { getQueueAttributes, setQueueAttributes } from './attributes.ts';
import type { Action } from './input.ts';
import { cancelMessageMoveTask, listMessageMoveTasks, startMessageMoveTask } from './move-tasks.ts';
import { addPermission, removePermission } from './permissions.ts';
import { createQueue, deleteQueue, getQueueUrl, listDeadLetterSourceQueues, listQueues, purgeQueue } from './queues.ts';
import { receiveMessage } from './receive.ts';
import { sendMessage, sendMessageBatch } from './send.ts';
import { listQueueTags, tagQueue, untagQueue } from './tags.ts';

/** Every action by its name on the wire. */
export const ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ['AddPermission', addPermission],
  ['CancelMessageMoveTask', cancelMessageMoveTask],
  ['ChangeMessageVisibility', changeMessageVisibility],
  ['ChangeMessageVisibilityBatch', changeMessageVisibilityBatch],
  ['CreateQueue', createQueue],
  ['DeleteMessage', deleteMessageAction],
  ['DeleteMessageBatch', deleteMessageBatch],
  ['DeleteQueue', deleteQueue],
  ['GetQueueAttributes', getQueueAttributes],
  ['GetQueueUrl', getQueueUrl],
  ['ListDeadLetterSourceQueues', listDeadLetterSourceQueues],
  ['ListMessageMoveTasks', listMessageMoveTasks],
  ['ListQueueTags', listQueueTags],
  ['ListQueues', listQueues],
  ['PurgeQueue', purgeQueue],
  ['ReceiveMessage', receiveMessage],
  ['RemovePermission', removePermission],
  ['SendMessage', sendMessage],
  ['SendMessageBatch', sendMessageBatch],
  ['SetQueueAttributes', setQueueAttributes],
  ['StartMessageMoveTask', startMessageMoveTask],
  ['TagQueue', tagQueue],
  ['UntagQueue', untagQueue],
]);
