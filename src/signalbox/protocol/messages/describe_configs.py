"""DescribeConfigs, api 32: settings of topics, brokers and more, with where each comes from.

1 brought sources and synonyms (KIP-226), 3 types and documentation (KIP-569).
"""

from __future__ import annotations

from signalbox.protocol.message import message

DescribeConfigsRequest = message(
    __name__,
    """
    DescribeConfigsRequest   api 32   versions 1-4   flexible 4+

    Resources             0+    []DescribeConfigsResource
      ResourceType        0+    int8
      ResourceName        0+    string
      ConfigurationKeys   0+    []string?
    IncludeSynonyms       1+    bool
    IncludeDocumentation  3+    bool
    """,
)

DescribeConfigsResponse = message(
    __name__,
    """
    DescribeConfigsResponse   api 32   versions 1-4   flexible 4+

    ThrottleTimeMs     0+    int32
    Results            0+    []DescribeConfigsResult
      ErrorCode        0+    int16
      ErrorMessage     0+    string?
      ResourceType     0+    int8
      ResourceName     0+    string
      Configs          0+    []DescribeConfigsResourceResult
        Name           0+    string
        Value          0+    string?
        ReadOnly       0+    bool
        ConfigSource   1+    int8 = -1                        ignorable
        IsDefault      0     bool
        IsSensitive    0+    bool
        Synonyms       1+    []DescribeConfigsSynonym         ignorable
          Name         1+    string
          Value        1+    string?0+
          Source       1+    int8
        ConfigType     3+    int8                             ignorable
        Documentation  3+    string?0+                        ignorable
    """,
)
