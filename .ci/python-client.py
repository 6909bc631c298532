"""Enqueues and follows jobs with a client generated from /openapi.json: python-client.py <URL of the API>."""

import sys
import time
from http import HTTPStatus

from millrace_client import Client
from millrace_client.api.jobs import cancel_job, enqueue_job, enqueue_jobs, get_job, list_jobs
from millrace_client.models import BulkAnswer, BulkJobs, EnqueuedJob, TrackedJob, ListJobsStatusItem, NewJob, Problem

client = Client(base_url=sys.argv[1])
reminder = {"to": "ada@example.com", "subject": "from Python", "text": "It is time."}


def follow(job_id: str) -> TrackedJob:
    """Polls until the job is finished, with conditional requests."""
    etag = ""
    unchanged = 0
    until = time.monotonic() + 60
    while time.monotonic() < until:
        reply = get_job.sync_detailed(job_id, client=client, if_none_match=etag)
        if reply.status_code == HTTPStatus.NOT_MODIFIED:
            unchanged += 1
        else:
            assert isinstance(reply.parsed, TrackedJob), reply
            etag = reply.headers["etag"]
            if reply.parsed.finished_at is not None:
                print(f"job {job_id} {reply.parsed.status} after {unchanged} answers with 304")
                return reply.parsed
        time.sleep(0.05)
    raise SystemExit(f"job {job_id} was not finished after a minute")


one = enqueue_job.sync(client=client, body=NewJob(job_type="send_reminder", payload=reminder, unique_key="python"))
assert isinstance(one, EnqueuedJob) and not one.deduplicated, one
done = follow(one.id)
assert done.status == "succeeded" and done.attempts == 1, done
assert done.payload == reminder and "messageId" in done.result, done

many = enqueue_jobs.sync(
    client=client, body=BulkJobs(jobs=[NewJob(job_type="send_reminder", payload=reminder) for _ in range(20)])
)
assert isinstance(many, BulkAnswer) and many.inserted == 20, many
assert all(follow(item.id).status == "succeeded" for item in many.items)

wrong = enqueue_job.sync(client=client, body=NewJob(job_type="send_reminder", payload={"to": "ada"}))
assert isinstance(wrong, Problem) and wrong.status == 422 and wrong.errors, wrong

later = enqueue_job.sync(client=client, body=NewJob(job_type="send_reminder", payload=reminder, delay="1h"))
assert isinstance(later, EnqueuedJob) and later.status == "pending", later
assert cancel_job.sync(later.id, client=client).answer == "cancelled"

listed = list_jobs.sync(client=client, job_type=["send_reminder"], status=[ListJobsStatusItem.CANCELLED])
assert [job.id for job in listed.items] == [later.id], listed

print("a generated Python client enqueued and followed 21 jobs")
