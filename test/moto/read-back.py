"""Prints as JSON what moto created for a stack: read-back.py <stack>. The endpoint comes from the environment."""

import json
import sys
from importlib.metadata import version

import boto3

stack = sys.argv[1]


def every(service, operation, key, **given):
    pages = boto3.client(service).get_paginator(operation).paginate(**given)
    return [item for page in pages for item in page[key]]


def queues():
    sqs = boto3.client("sqs")
    for url in every("sqs", "list_queues", "QueueUrls", QueueNamePrefix=f"{stack}-"):
        attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        yield url.split("/")[-1], attributes


def policies(role):
    iam = boto3.client("iam")
    for name in every("iam", "list_role_policies", "PolicyNames", RoleName=role):
        yield name, iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]


def roles():
    for role in every("iam", "list_roles", "Roles"):
        if role["RoleName"].startswith(f"{stack}-"):
            yield role["Arn"], {
                "trusts": role["AssumeRolePolicyDocument"]["Statement"],
                "policies": dict(policies(role["RoleName"])),
            }


resources = every("cloudformation", "list_stack_resources", "StackResourceSummaries", StackName=stack)
(described,) = boto3.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
print(
    json.dumps(
        {
            "version": version("moto"),
            "status": described["StackStatus"],
            "outputs": described.get("Outputs", []),
            # moto lists the resources that it does not create without a type.
            "resources": {one["LogicalResourceId"]: one["ResourceType"] for one in resources if one.get("ResourceType")},
            "queues": dict(queues()),
            "functions": {one["FunctionName"]: one for one in every("lambda", "list_functions", "Functions")},
            "mappings": every("lambda", "list_event_source_mappings", "EventSourceMappings"),
            "roles": dict(roles()),
            "schedules": every("scheduler", "list_schedules", "Schedules"),
            "logGroups": {one["logGroupName"]: one for one in every("logs", "describe_log_groups", "logGroups")},
        },
        default=str,
    )
)
